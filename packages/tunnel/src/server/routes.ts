/** Where the hosts of runtimes are connected, remembered for a moment. Calls to unknown hosts ask the registry once a second. */
import type { Clock } from '@windlass/kit'
import type { TunnelRegistry, TunnelRoute } from './registry.ts'

const FRESH_MS = 1_000
const MAX_ROUTES = 10_000

interface Known {
  readonly at: number
  readonly route: Promise<TunnelRoute | undefined>
}

export class Routes {
  readonly #registry: TunnelRegistry
  readonly #clock: Clock
  readonly #known = new Map<string, Known>()

  constructor(registry: TunnelRegistry, clock: Clock) {
    this.#registry = registry
    this.#clock = clock
  }

  /** Finds the runtime of a host; undefined if there is none. */
  find(prefix: string): Promise<TunnelRoute | undefined> {
    const now = this.#clock.monotonic()
    const known = this.#known.get(prefix)
    if (known !== undefined && now - known.at < FRESH_MS) return known.route
    if (this.#known.size >= MAX_ROUTES) this.#known.clear()
    const route = this.#registry.find(prefix)
    this.#known.set(prefix, { at: now, route })
    route.catch(() => this.#known.delete(prefix))
    return route
  }

  clear(): void {
    this.#known.clear()
  }
}
