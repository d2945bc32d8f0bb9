/** Which of the watched places the reporter can read. A place that was refused or did not answer for long may have other applications by now. */
import type { Clock, Logger } from '@windlass/kit'
import { ALL_NAMESPACES } from '@windlass/kube'

/** Time without a message of the API server after which a place counts as unreadable. A watch that works has one at least each two minutes. Milliseconds. */
const BLIND_MS = 300_000

export class Sight {
  readonly #clock: Clock
  readonly #log: Logger
  /** Monotonic milliseconds of the last message, by place. */
  readonly #heardAt = new Map<string, number>()

  #wasBlind = false

  constructor(places: readonly string[], { clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = clock
    this.#log = log
    for (const place of places) this.heard(place)
  }

  /** Notes a message of the API server about a place. */
  heard(place: string): void {
    this.#heardAt.set(place, this.#clock.monotonic())
  }

  /** Places that cannot be read: there was no message about them for `BLIND_MS`. */
  get blind(): readonly string[] {
    const before = this.#clock.monotonic() - BLIND_MS
    return [...this.#heardAt].filter(([, at]) => at < before).map(([place]) => place)
  }

  /** Result of the last `check`. */
  get wasBlind(): boolean {
    return this.#wasBlind
  }

  /** Returns true if a place cannot be read, and logs when that begins. */
  check(): boolean {
    const { blind } = this
    const namespaces = blind.map((place) => (place === ALL_NAMESPACES ? 'all' : place))
    if (blind.length > 0 && !this.#wasBlind)
      this.#log.warn(
        { namespaces },
        'namespaces cannot be read for some minutes, so the server shows the runtime as silent; check the cluster and the rights on applications',
      )
    this.#wasBlind = blind.length > 0
    return this.#wasBlind
  }
}
