// Follows a stream with npm's eventsource and reports each frame as a line of JSON.
import {EventSource} from 'eventsource'

const [url, types] = process.argv.slice(2)
const tell = what => process.stdout.write(JSON.stringify(what) + '\n')
const source = new EventSource(url)
source.onopen = () => tell({type: 'open'})
source.onerror = event => {
  if (source.readyState === EventSource.CLOSED) tell({type: 'broken', data: String(event.message ?? event.code)})
}
for (const type of JSON.parse(types))
  source.addEventListener(type, event => tell({id: event.lastEventId, type, data: event.data}))
