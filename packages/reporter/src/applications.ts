/** The applications of a part that exist, followed by watches. Each change is an entry with its manifest. */
import type { Clock, Logger } from '@windlass/kit'
import type { Change, Kube } from '@windlass/kube'
import { KnownObjects } from './known.ts'
import { manifestOf } from './manifest.ts'
import type { Entry } from './queue.ts'
import { Sight } from './sight.ts'

export interface WatchesOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly namespaces: readonly string[]
  readonly shard: number
  readonly shards: number
  readonly signal: AbortSignal
  readonly onChange: (entry: Entry) => void
  /** Called whenever everything in a place has been listed, so that the server must be told what exists. */
  readonly onListed: () => void
}

export interface ApplicationWatchesOptions extends WatchesOptions {
  /** Called for a message of the API server after minutes in which a place could not be read. */
  readonly onSeenAgain: () => void
}

export class ApplicationWatches {
  readonly #options: ApplicationWatchesOptions
  readonly sight: Sight
  readonly known: KnownObjects
  /** Watches that have not listed everything yet. */
  #unlisted: number
  readonly ended: Promise<void>

  constructor(options: ApplicationWatchesOptions) {
    const { namespaces } = options
    this.#options = options
    this.known = new KnownObjects(options)
    this.#unlisted = namespaces.length
    this.sight = new Sight(namespaces, options)
    this.ended = Promise.all(namespaces.map((namespace) => this.#watch(namespace))).then(() => undefined)
  }

  /** True once everything has been listed. */
  get isListed(): boolean {
    return this.#unlisted === 0
  }

  /** Follows the applications of a namespace. After a gap the watch lists again, and then the full state is reported again. */
  async #watch(namespace: string): Promise<void> {
    const { kube, signal, onListed, onSeenAgain } = this.#options
    let isFirst = true
    const onHeard = (): void => {
      this.sight.heard(namespace)
      if (this.sight.wasBlind) onSeenAgain()
    }
    for await (const change of kube.watch({ kind: 'Application', namespace }, { signal, onHeard })) {
      if (change.type !== 'synced') this.#note(change)
      else {
        if (isFirst) this.#unlisted -= 1
        isFirst = false
        onListed()
      }
    }
  }

  #note(change: Exclude<Change, { type: 'synced' }>): void {
    const { clock, onChange } = this.#options
    const noted = this.known.note('Application', change)
    if (noted === undefined) return
    const { isGone, isNew: _isNew, ...named } = noted
    onChange({ ...named, at: clock.now(), state: isGone ? 'gone' : { manifest: manifestOf(change.object) } })
  }
}
