/** Wake-ups between several servers: LISTEN and NOTIFY on a dedicated connection, because a transaction pooler would not support them. */
import { backoffMs, newId, type Clock, type Logger } from '@windlass/kit'
import pg from 'pg'
import { openLocalBus, type Bus } from './bus.ts'
import { closeWhenStalled, connectionOptions, type DatabaseLimits } from './postgres-pool.ts'

const CHANNEL = 'windlass'
/** PostgreSQL rejects payloads of 8000 bytes or more. */
const MAX_PAYLOAD = 7900
const BACKOFF = { baseMs: 200, maxMs: 5000 }

export interface PostgresBusOptions {
  readonly url: string
  readonly limits: DatabaseLimits
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Sends topics after the commit, batched for a millisecond, so that no transaction waits for the lock that NOTIFY takes at commit. Wakes watchers
 * on this server without the round trip. Throws if the first connection fails; reconnects later ones.
 */
export async function openPostgresBus(options: PostgresBusOptions): Promise<Bus> {
  const local = openLocalBus(options.clock)
  const self = newId(options.clock.now()).slice(8)
  const stop = new AbortController()
  let client: pg.Client | undefined
  const pending = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  async function connect(): Promise<void> {
    const next = new pg.Client({ ...connectionOptions(options.url, options.limits), application_name: 'windlass-bus' })
    closeWhenStalled(next)
    next.on('error', () => undefined)
    next.on('end', () => {
      // A connection that never opened is handled by the caller of `connect`.
      if (client !== next) return
      client = undefined
      if (!stop.signal.aborted) void reconnect()
    })
    next.on('notification', ({ payload = '' }) => {
      const [sender, ...topics] = payload.split(' ')
      if (sender !== self) local.wake(topics)
    })
    try {
      await next.connect()
      await next.query(`listen ${CHANNEL}`)
    } catch (error) {
      await next.end().catch(() => undefined)
      throw error
    }
    client = next
  }

  async function reconnect(): Promise<void> {
    for (let n = 1; !stop.signal.aborted && client === undefined; n += 1) {
      await options.clock.sleep(backoffMs(BACKOFF, n), stop.signal).catch(() => undefined)
      if (stop.signal.aborted) return
      await connect().catch((error: unknown) => options.log.warn({ err: error }, 'cannot receive wake-ups from other servers'))
    }
  }

  /** Sends one message at a time. Topics that arrive in the meantime go into the next one. */
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
    listen: (onTopic) => local.listen(onTopic),
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
