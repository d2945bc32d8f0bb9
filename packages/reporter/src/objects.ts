/**
 * The rollouts, their ReplicaSets and the workflows of a part that exist, followed by watches of their metadata: a workflow has up to a megabyte, so an object is read when it is sent. A cluster may not have
 * these kinds, and the reporter may not be allowed to read them. Then nothing is said about them, and applications are reported all the same.
 */
import { isAbort, isFault } from '@windlass/kit'
import type { Change, Selection } from '@windlass/kube'
import { REPORTED_KINDS, type ReportedKind } from '@windlass/protocol'
import type { WatchesOptions } from './applications.ts'
import { KnownObjects } from './known.ts'
import { Sight } from './sight.ts'

/** Label that Argo Rollouts gives to the ReplicaSets of its rollouts. Those of Deployments are not reported. */
const LABELS: Readonly<Partial<Record<ReportedKind, string>>> = { ReplicaSet: 'rollouts-pod-template-hash' }
/** A definition can be installed, or a right granted, while the reporter runs. Milliseconds. */
const ABSENT_MS = 60_000
const FAILED_MS = 5_000
const FORBIDDEN = 403

export class ObjectWatches {
  readonly #options: WatchesOptions
  readonly known: KnownObjects
  /** The last messages about the places of each kind. */
  readonly #sights: ReadonlyMap<ReportedKind, Sight>
  /** Places that were listed, by kind. */
  readonly #listed: ReadonlyMap<ReportedKind, Set<string>>
  readonly ended: Promise<void>

  constructor(options: WatchesOptions) {
    const { namespaces } = options
    this.#options = options
    this.known = new KnownObjects(options)
    this.#sights = new Map(REPORTED_KINDS.map((kind) => [kind, new Sight(namespaces, options)]))
    this.#listed = new Map(REPORTED_KINDS.map((kind) => [kind, new Set()]))
    const watches = REPORTED_KINDS.flatMap((kind) => namespaces.map((namespace) => this.#watch(kind, namespace)))
    this.ended = Promise.all(watches).then(() => undefined)
  }

  /** Kinds that are followed in all places, so that what is not known does not exist. The full state names what is known of the other kinds too. */
  get kinds(): ReportedKind[] {
    const { size } = new Set(this.#options.namespaces)
    return REPORTED_KINDS.filter(
      (kind) => size > 0 && this.#listed.get(kind)?.size === size && this.#sights.get(kind)?.blind.length === 0,
    )
  }

  async #watch(kind: ReportedKind, namespace: string): Promise<void> {
    const { kube, signal, onListed } = this.#options
    const selection = { kind, namespace, labels: LABELS[kind], content: 'metadata' } as const
    if (!(await this.#untilReadable(selection))) return
    const listed = this.#listed.get(kind)
    const onHeard = (): void => this.#sights.get(kind)?.heard(namespace)
    for await (const change of kube.watch(selection, { signal, onHeard })) {
      if (change.type !== 'synced') this.#note(kind, change, listed?.has(namespace) === true)
      else {
        listed?.add(namespace)
        onListed()
      }
    }
  }

  /** Waits until the cluster has the kind and it may be read. Returns false if the reporter stops. */
  async #untilReadable(selection: Selection): Promise<boolean> {
    const { kube, clock, log, signal } = this.#options
    const { kind, namespace } = selection
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        // Whether the list is allowed counts, and not what it has.
        await kube.list({ ...selection, fields: 'metadata.name=none' }, signal)
        return true
      } catch (error) {
        if (signal.aborted || isAbort(error)) return false
        const isAbsent = isFault(error, 'not-found') || isForbidden(error)
        if (isAbsent && isFirst)
          log.info({ kind, namespace }, 'the cluster does not have a kind, or it may not be read; it is not reported')
        if (!isAbsent) log.warn({ err: error, kind, namespace }, 'a kind cannot be read')
        await clock.sleep(isAbsent ? ABSENT_MS : FAILED_MS, signal).catch(() => undefined)
      }
    }
    return false
  }

  /** What exists at the first list is named by the full state, and the server asks for what it does not have in this version. So a reporter that starts reads only what has changed. */
  #note(kind: ReportedKind, change: Exclude<Change, { type: 'synced' }>, isListed: boolean): void {
    const { clock, onChange } = this.#options
    const noted = this.known.note(kind, change)
    if (noted === undefined) return
    const { isGone, isNew, ...named } = noted
    const entry = { ...named, at: clock.now() }
    if (isGone) onChange({ ...entry, state: 'gone' })
    else if (isListed && isNew) onChange({ ...entry, state: 'wanted' })
  }
}

export function isForbidden(error: unknown): boolean {
  return isFault(error, 'cluster-refused') && error.details['httpStatus'] === FORBIDDEN
}
