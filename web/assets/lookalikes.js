// Letters and signs that imitate those of ASCII: a Cyrillic а in a host that otherwise is Latin. A text is not
// suspicious because it is not English. Go's package internal/visible marks the same ones in the terminal.

const letters = new Map(Array.from((""
  + "аaеeоoрpсcуyхxіiјjѕsһhԁdԛqԝwӏlѵvүyҁcгrпnАAВBЕEКKМMНHОOРPСCТTХXУYІIЈJЅSҮYԌGԚQԜWӀIѴVЗ3" // Cyrillic
  + "οoνvρpιiΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϲcϳjϹCͿJ" // Greek
  + "օoոnսuհhյjզqցgՍUՕOԼLՏS" // Armenian
  + "ᎠDᎢTᎩYᎪAᎫJᎬEᎳWᎷMᎻHᏀGᏃZᏎ4ᏏbᏒRᏔWᏙVᏚSᏞLᏟCᏢPᏦKᏧdᏴB" // Cherokee
  + "ⲟoⲣpⲤCⲥcⲒIⲔKⲘMⲚNⲞOⲢPⲦTⲨYⲬX" // Coptic
  + "ꓐBꓑPꓒdꓓDꓔTꓖGꓗKꓙJꓚCꓜZꓝFꓟMꓠNꓡLꓢSꓣRꓦVꓧHꓪWꓫXꓬYꓮAꓰEꓲIꓳOꓴU" // Lisu
  + "ɑaɡgɩiʋv" // phonetic
).matchAll(/(.)(.)/gsu), ([, one, ascii]) => [one, ascii]));

// signs part hosts and paths in a person's eye only.
const signs = /(?<=[A-Za-z])[⁄∕⧸╱／․。．∶꞉：；\u037e](?=[A-Za-z0-9])|(?<=[0-9])[⁄∕⧸╱／․。．∶꞉：；\u037e](?=[A-Za-z])/gu;

// imitated returns what a letter or digit looks like, "" for most. Those that Unicode calls compatible look like it.
const known = new Map();
function imitated(c) {
  if (c < "\x80") return "";
  let found = letters.get(c) ?? known.get(c);
  if (found === undefined) {
    const compatible = /[\p{Ll}\p{Lu}\p{Nd}]/u.test(c) ? c.normalize("NFKC") : "";
    known.set(c, found = /^[A-Za-z0-9]*$/.test(compatible) ? compatible : "");
  }
  return found;
}

function countsOf(text) {
  const of = { latin: 0, imitating: 0, foreign: 0 };
  for (const c of text)
    if (imitated(c)) of.imitating++; else if (/\p{Script=Latin}/u.test(c)) of.latin++; else if (/\p{L}/u.test(c)) of.foreign++;
  return of;
}

// lookAlikes returns the places of what imitates something in a text, with the letter that it looks like, "" for a
// sign: letters in a word that mixes alphabets, words wholly of such letters in a name with Latin letters, such as a
// host, or on a line whose other letters all are Latin, and signs between letters.
export function lookAlikes(text) {
  const found = new Map();
  if (!/[^\x00-\x7f]/.test(text)) return found;
  for (const line of text.matchAll(/[^\n]+/g)) {
    const whole = countsOf(line[0]);
    for (const name of line[0].matchAll(/[\p{L}\p{M}\p{N}._-]+/gu)) {
      const ofName = countsOf(name[0]);
      for (const word of name[0].matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
        const { latin, imitating, foreign } = countsOf(word[0]);
        const alone = foreign === 0 && (ofName.latin > 0 || whole.latin > 0 && whole.foreign === 0 && imitating > 1);
        if (imitating === 0 || latin === 0 && !alone) continue;
        let at = line.index + name.index + word.index;
        for (const c of word[0]) { if (imitated(c)) found.set(at, imitated(c)); at += c.length; }
      }
    }
    for (const sign of line[0].matchAll(signs)) found.set(line.index + sign.index, "");
  }
  return found;
}
