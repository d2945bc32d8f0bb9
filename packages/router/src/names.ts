/** Addresses of the services of event sources, from the DNS of the cluster. */
import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { fault, hasCode, type Clock, type Logger } from '@windlass/kit'

/** Longest time for which an answer is used. Seconds. A service that is created again has another address. */
const MAX_TTL_S = 10
/** Names that are remembered. The oldest one is forgotten first. */
const MAX_NAMES = 1_000
/** Per try, milliseconds. */
const ASK = { timeout: 2_000, tries: 2 }

export interface NamesOptions {
  /** Addresses of name servers, with a port if it is not 53. Empty: those of `/etc/resolv.conf`. */
  readonly servers: readonly string[]
  /** Returns true for an address that calls may lead to. */
  readonly isAllowed: (address: string) => boolean
  readonly clock: Clock
  readonly log: Logger
}

interface Known {
  readonly addresses: readonly LookupAddress[] | undefined
  /** Monotonic time, milliseconds. */
  readonly until: number
}

/** Resolves names. `dns.lookup` would know no TTL, would read `/etc/hosts`, and would block the threads of file systems while a name server is silent. */
export class Names {
  /** Number of questions by result. */
  readonly results = new Map<'found' | 'absent' | 'blocked' | 'failed', number>()
  readonly #options: NamesOptions
  readonly #resolver = new dns.Resolver(ASK)
  readonly #known = new Map<string, Known>()
  readonly #asked = new Map<string, Promise<Known>>()

  constructor(options: NamesOptions) {
    this.#options = options
    if (options.servers.length > 0) this.#resolver.setServers(options.servers)
  }

  /** Returns the addresses of a name. Undefined if it does not exist or leads to an address that is not allowed. Throws `router-service` if no name server answers. */
  async find(name: string): Promise<readonly LookupAddress[] | undefined> {
    const known = this.#known.get(name)
    if (known !== undefined && this.#options.clock.monotonic() < known.until) return known.addresses
    const asked = this.#asked.get(name) ?? this.#ask(name).finally(() => this.#asked.delete(name))
    this.#asked.set(name, asked)
    return (await asked).addresses
  }

  /** Ends the questions that are open. */
  close(): void {
    this.#resolver.cancel()
  }

  async #ask(name: string): Promise<Known> {
    const { clock, log, isAllowed } = this.#options
    const answers = await Promise.allSettled([
      this.#resolver.resolve4(name, { ttl: true }),
      this.#resolver.resolve6(name, { ttl: true }),
    ])
    const records = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (records.length === 0) return this.#noteAbsence(name, answers)
    const addresses = records.map(({ address }): LookupAddress => ({ address, family: isIP(address) }))
    const blocked = addresses.find(({ address }) => !isAllowed(address))
    if (blocked !== undefined) log.warn({ name, address: blocked.address }, 'the address of an event source is not allowed')
    this.#count(blocked === undefined ? 'found' : 'blocked')
    const ttlS = Math.min(MAX_TTL_S, ...records.map(({ ttl }) => ttl))
    const known = { addresses: blocked === undefined ? addresses : undefined, until: clock.monotonic() + ttlS * 1000 }
    this.#remember(name, known)
    return known
  }

  /** Absence is not remembered: an event source gets its first webhook right after its Service was created. */
  #noteAbsence(name: string, answers: readonly PromiseSettledResult<unknown>[]): Known {
    const failed = answers.find((answer) => answer.status === 'rejected' && !hasCode(answer.reason, 'ENOTFOUND', 'ENODATA'))
    this.#count(failed === undefined ? 'absent' : 'failed')
    if (failed?.status !== 'rejected') return { addresses: undefined, until: 0 }
    throw fault(
      'router-service',
      {
        message: `The name of the event source cannot be resolved: ${name}.`,
        hint: 'Check the DNS of the cluster, and WINDLASS_ROUTER_DNS_SERVERS of the router.',
      },
      failed.reason,
    )
  }

  #remember(name: string, known: Known): void {
    this.#known.delete(name)
    const [oldest] = this.#known.size >= MAX_NAMES ? this.#known.keys() : []
    if (oldest !== undefined) this.#known.delete(oldest)
    this.#known.set(name, known)
  }

  #count(result: 'found' | 'absent' | 'blocked' | 'failed'): void {
    this.results.set(result, (this.results.get(result) ?? 0) + 1)
  }
}

/** Returns a lookup that knows one answer, so that the connection is made to an address that was checked. */
export function fixedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (name, options, done) => {
    const [first] = addresses
    if (first === undefined) done(new Error(`${name} has no address`), '', 4)
    else if (options.all === true) done(null, [...addresses])
    else done(null, first.address, first.family)
  }
}
