/** The pods of a job: one after the other for its pull policies, while an image cannot be pulled. */
import type { Clock } from '@windlass/kit'
import type { FailureReason } from '../../coordinator/failure-reasons.ts'
import type { PodState } from './pod-state.ts'

export interface PodTriesOptions {
  readonly clock: Clock
  /** Replaces the pod by one with the next pull policy. Undefined, or resolves to false, if there is none. */
  readonly nextPod: (() => Promise<boolean>) | undefined
  /** Adds a line to the trace. */
  readonly note: (text: string) => Promise<void>
  /** Fails the job. */
  readonly lose: (message: string, reason?: FailureReason) => void
}

/** Time for which a registry that cannot be reached is tried again. Milliseconds. */
const REGISTRY_MS = 25_000
/**
 * The same for a registry that refuses the login. The kubelet waits a second for the logins of a new pod, and then pulls without them. It pulls again 10 to 15 s later
 * (`workerBackOffPeriodJitterFactor` in pkg/kubelet/pod_workers.go), and that pull takes time as well.
 */
const LOGIN_MS = 30_000
/** Messages of container runtimes about a refused login. */
const REFUSED_LOGIN = /\b401\b|unauthorized|authentication required/i

export class PodTries {
  readonly #options: PodTriesOptions
  /** Pods of earlier pull policies. */
  readonly #replaced = new Set<string>()
  #uid: string | undefined
  /** True while the pod of the next pull policy is created. */
  #isReplacing = false
  #since: number | undefined

  constructor(options: PodTriesOptions) {
    this.#options = options
  }

  /** True if the pod of this try has been seen. */
  get isKnown(): boolean {
    return this.#uid !== undefined
  }

  /** True if the pod of this try may not exist yet. */
  get isComing(): boolean {
    return this.#uid === undefined && this.#isReplacing
  }

  /** Returns false for the pod of an earlier try, and for another pod with the same name. */
  isCurrent(uid: string | undefined): boolean {
    if (uid === undefined) return true
    return !this.#replaced.has(uid) && (this.#uid === undefined || uid === this.#uid)
  }

  /** Takes the pod of this try. */
  take(uid: string | undefined): void {
    this.#uid = uid
  }

  /** Acts on an image that cannot be pulled: waits for its registry, replaces the pod, or fails the job. */
  problem({ image, message, reason }: Extract<PodState, { type: 'image' }>): void {
    const { clock, nextPod, lose } = this.#options
    this.#since ??= clock.monotonic()
    const isAway = reason === 'runner_external_dependency_failure'
    const patienceMs = isAway ? REGISTRY_MS : REFUSED_LOGIN.test(message) ? LOGIN_MS : 0
    if (this.#isReplacing || clock.monotonic() - this.#since < patienceMs) return
    const text = `the image ${image} cannot be pulled: ${message}`
    if (nextPod === undefined) {
      lose(text, reason)
      return
    }
    this.#isReplacing = true
    if (this.#uid !== undefined) this.#replaced.add(this.#uid)
    this.#uid = undefined
    void this.#replace(nextPod, { text, reason })
  }

  async #replace(
    nextPod: () => Promise<boolean>,
    { text, reason }: { readonly text: string; readonly reason: FailureReason },
  ): Promise<void> {
    const { note, lose } = this.#options
    try {
      if (!(await nextPod())) {
        lose(text, reason)
        return
      }
      await note(`WARNING: ${text}. The next pull policy is tried.`)
      this.#since = undefined
      this.#isReplacing = false
    } catch (error) {
      lose(`${text}; the pod cannot be created again: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
