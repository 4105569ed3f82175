// Starts, pauses and resumes runs with the published client of the pause-and-resume
// system, and with the plain fetch that its documents show for browsers. It reports what
// it was shown as one line of JSON.
const [port] = process.argv.slice(2)
// How the client is told where agents run that are not in the cloud.
process.env.TIMBAL_START_WORKFORCE = `assistant:${port}`
const {default: Timbal, parseSSELine} = await import('@timbal-ai/timbal-sdk')
const timbal = new Timbal({token: 'none'})

async function read(response) {
  const events = []
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body) {
    const lines = (rest + decoder.decode(chunk, {stream: true})).split('\n')
    rest = lines.pop()
    for (const line of lines)
      if (line.startsWith('data: ')) events.push(parseSSELine(line))
  }
  return events
}
const waits = events => Object.fromEntries(events.filter(e => e.type === 'INTERACTION' || e.type === 'APPROVAL')
  .map(e => [e.type, e.interaction_id ?? e.approval_id]))

const prompt = 'set up my database'
const first = await read(await timbal.streamWorkforce('assistant', {prompt}))
const ids = waits(first)
const second = await read(await timbal.streamWorkforce('assistant', {prompt, resume: {
  [ids.INTERACTION]: 'postgres', [ids.APPROVAL]: {approved: true, override_input: {to: 'fixed@example.com'}},
}}, {parentId: first[0].run_id}))

const paused = await (await timbal.callWorkforce('assistant', {prompt})).json()
const cancelled = await (await timbal.callWorkforce('assistant', {prompt, resume: {
  [paused.output.suspension_id]: {type: 'timbal.cancel', reason: 'user closed the dialog'},
}}, {parentId: paused.run_id})).json()

// The documented way of a browser, with the parent beside the answers, one at a time.
const post = body => fetch(`http://localhost:${port}/agents/assistant/stream`, {
  method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body),
})
const plain = [await read(await post({prompt}))]
const open = waits(plain[0])
plain.push(await read(await post({prompt, parent_id: plain[0].at(-1).run_id, resume: {[open.APPROVAL]: false}})))
plain.push(await read(await post({prompt, parent_id: plain[1].at(-1).run_id, resume: {[open.INTERACTION]: 'sqlite'}})))

process.stdout.write(JSON.stringify({first, second, paused, cancelled, plain}) + '\n')
