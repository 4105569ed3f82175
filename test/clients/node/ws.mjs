// Follows a thread with npm's ws, as a client of that dialect does: it connects again
// after every cut, and then reads the lists, because nothing is replayed. Each event
// and each pair of lists is reported as a line of JSON.
import WebSocket from 'ws'

const [base, thread] = process.argv.slice(2)
const tell = what => process.stdout.write(JSON.stringify(what) + '\n')

async function lists() {
  const read = async name => (await (await fetch(`${base}/api/sessions/${thread}/${name}`)).json()).data
  return {approvals: await read('approvals'), inputs: await read('tool-input')}
}

function connect() {
  const socket = new WebSocket(`${base.replace('http', 'ws')}/api/stream?threadId=${thread}`)
  // What comes before the lists are read is reported after them.
  let early = []
  socket.on('message', async text => {
    const event = JSON.parse(text)
    if (event.type !== 'ready') {
      const report = {type: event.type, id: event.payload.approvalId ?? event.payload.requestId, data: JSON.stringify(event)}
      early ? early.push(report) : tell(report)
      return
    }
    tell({type: 'open'})
    try {
      tell({type: 'lists', data: JSON.stringify(await lists())})
    } catch {
      socket.terminate()
      return
    }
    early.forEach(tell)
    early = null
  })
  socket.on('error', () => {})
  socket.on('close', () => setTimeout(connect, 50))
}
connect()
