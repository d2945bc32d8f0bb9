/** Wake-ups between several servers: LISTEN and NOTIFY on a connection of its own (a transaction pooler would not carry them). */
import { backoffMs, newId, type Clock, type Logger } from '@windlass/kit'
import pg from 'pg'
import { openLocalBus, type Bus } from './bus.ts'

const CHANNEL = 'windlass'
/** PostgreSQL refuses payloads of 8000 bytes and more. */
const MAX_PAYLOAD = 7900
const BACKOFF = { baseMs: 200, maxMs: 5000 }

export interface PostgresBusOptions {
  readonly url: string
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Topics are sent after the commit, gathered for a moment, so that no transaction waits for the lock that NOTIFY takes at commit.
 * Whoever listens on this server is woken without the round trip. Throws when the first connection fails; later ones are made again.
 */
export async function openPostgresBus(options: PostgresBusOptions): Promise<Bus> {
  const local = openLocalBus(options.clock)
  const self = newId(options.clock.now()).slice(8)
  const stop = new AbortController()
  let client: pg.Client | undefined
  const pending = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  async function connect(): Promise<void> {
    const next = new pg.Client({ connectionString: options.url, application_name: 'windlass-bus', keepAlive: true })
    next.on('error', () => undefined)
    next.on('end', () => {
      if (client === next) client = undefined
      if (!stop.signal.aborted) void reconnect()
    })
    next.on('notification', ({ payload = '' }) => {
      const [sender, ...topics] = payload.split(' ')
      if (sender !== self) local.wake(topics)
    })
    await next.connect()
    await next.query(`listen ${CHANNEL}`)
    client = next
  }

  async function reconnect(): Promise<void> {
    for (let n = 1; !stop.signal.aborted && client === undefined; n += 1) {
      await options.clock.sleep(backoffMs(BACKOFF, n), stop.signal).catch(() => undefined)
      if (stop.signal.aborted) return
      await connect().catch((error: unknown) => options.log.warn({ err: error }, 'wake-ups of other servers do not arrive'))
    }
  }

  /** One message after the other; what comes meanwhile is gathered for the next. */
  async function flush(): Promise<void> {
    while (pending.size > 0 && client !== undefined) {
      const payloads = toPayloads(self, pending)
      pending.clear()
      for (const payload of payloads) await client?.query('select pg_notify($1, $2)', [CHANNEL, payload]).catch(() => undefined)
    }
    pending.clear()
    timer = undefined
  }

  await connect()
  return {
    wake(topics) {
      const list = [...topics]
      local.wake(list)
      for (const topic of list) pending.add(topic)
      timer ??= setTimeout(() => void flush(), 1)
    },
    watch: (topic) => local.watch(topic),
    async close() {
      stop.abort()
      clearTimeout(timer)
      local.end()
      await client?.end().catch(() => undefined)
    },
  }
}

function toPayloads(sender: string, topics: Iterable<string>): string[] {
  const payloads: string[] = []
  let payload = sender
  for (const topic of topics) {
    if (payload.length + topic.length + 1 > MAX_PAYLOAD) {
      payloads.push(payload)
      payload = sender
    }
    payload += ` ${topic}`
  }
  return payload === sender ? payloads : [...payloads, payload]
}
