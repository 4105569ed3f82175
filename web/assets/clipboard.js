// Copying texts. Browsers hide navigator.clipboard from pages without TLS, and people may forbid it.

// copied puts a text on the clipboard and says whether it is there.
export async function copied(text) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else return copiedByEvent(text);
    return true;
  } catch {
    return false;
  }
}

// copiedByEvent neither moves the focus nor changes what is selected: somebody may be typing.
function copiedByEvent(text) {
  let taken = false;
  const take = event => { event.clipboardData.setData("text/plain", text); event.preventDefault(); taken = true; };
  document.addEventListener("copy", take, { once: true });
  try {
    return document.execCommand("copy") && taken;
  } finally {
    document.removeEventListener("copy", take);
  }
}
