/** A small Kubernetes client. Objects are plain JSON; messages of the API server reach the caller unchanged. */
import type { Readable } from 'node:stream'
import type { Clock, Logger } from '@windlass/kit'
import type { ClusterAccess } from './config.ts'
import type { Attachment, AttachOptions, ExecOptions, Execution } from './exec.ts'
import type { Kind, KubeObject, ObjectRef } from './objects.ts'
import type { Change, WatchOptions } from './watch.ts'

export interface KubeOptions {
  readonly access: ClusterAccess
  readonly log: Logger
  readonly clock?: Clock
  /** Maximum number of calls per second, and maximum burst. */
  readonly qps?: number
  readonly burst?: number
}

export interface Selection {
  readonly kind: Kind
  readonly namespace?: string | undefined
  /** Label selector, such as `windlass.io/build=65…` or `windlass.io/build`. */
  readonly labels?: string | undefined
  /** Field selector, such as `involvedObject.name=x`. */
  readonly fields?: string | undefined
  /** `metadata`: the objects come without spec, data and status, which are then never transferred to this process. */
  readonly content?: 'metadata' | undefined
}

/** A permission to check (SelfSubjectAccessReview, `resourceAttributes`). */
export interface Right {
  readonly verb: string
  /** API group; empty for the core one. */
  readonly group: string
  readonly resource: string
  readonly subresource?: string | undefined
  /** Absent: the whole cluster. */
  readonly namespace?: string | undefined
}

export interface DeleteOptions {
  /** Seconds between TERM and KILL of a pod; 0 also removes the object without waiting for its node. */
  readonly graceSeconds?: number
  /** Deletes only the object with this uid, not a later one with its name. */
  readonly uid?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface PatchOptions {
  /** The subresource to patch instead of the object. */
  readonly part?: 'status'
  /** `json`: the patch is a list of operations (RFC 6902). */
  readonly form?: 'merge' | 'json'
  readonly signal?: AbortSignal | undefined
}

/** A port of a Service. */
export interface ServicePort {
  readonly namespace: string
  readonly name: string
  readonly port: number
  /** True for a port with TLS. Its certificate is not checked. */
  readonly isSecure: boolean
}

export interface LogsOptions {
  readonly container: string
  readonly tailLines: number
  /** Reads the log of the previous instance of the container. */
  readonly previous?: boolean
  readonly signal?: AbortSignal | undefined
}

export interface FollowLogsOptions {
  readonly container: string
  /** False: end with the last line that is there. */
  readonly follow?: boolean
  /** Lines from the end. Default: all. */
  readonly tailLines?: number
  /** Age of the oldest line. */
  readonly sinceSeconds?: number | undefined
  readonly signal: AbortSignal
}

export interface Kube {
  /** Default namespace of the access. */
  readonly namespace: string
  /**
   * Creates an object. An existing one with the same name and the same values of `sameLabels` counts as created; any other is a `conflict`.
   * Throws `cluster-unreachable` while the existing one is being deleted, see `isBeingDeleted`.
   */
  apply(object: KubeObject, sameLabels: readonly string[], signal?: AbortSignal): Promise<KubeObject>
  /** Creates an object. An existing one with its name is a `conflict` whose `kubeReason` is `AlreadyExists`. */
  create(object: KubeObject, signal?: AbortSignal): Promise<KubeObject>
  find(ref: ObjectRef, signal?: AbortSignal): Promise<KubeObject | undefined>
  list(selection: Selection, signal?: AbortSignal): Promise<KubeObject[]>
  /** Returns false if there was none. The object may stay in Terminating for a while. */
  delete(ref: ObjectRef, options?: DeleteOptions): Promise<boolean>
  /**
   * Patches an object. With `metadata.resourceVersion` in a merge patch (RFC 7386), a `conflict` means that the object has changed since
   * then.
   */
  patch(ref: ObjectRef, patch: Record<string, unknown> | readonly unknown[], options?: PatchOptions): Promise<KubeObject>
  /** Lists, then follows changes until the signal is aborted; recovers from all errors in between. */
  watch(selection: Selection, options: Omit<WatchOptions, 'selection' | 'clock' | 'log'>): AsyncGenerator<Change>
  /** Returns the last log lines of a container. For diagnostics only: the kubelet drops lines of a busy container. */
  logs(pod: ObjectRef, options: LogsOptions): Promise<string>
  /**
   * Returns the log of a container, by default from its start, each line with its time, until the container ends. Throws `not-found` or `cluster-refused` if the pod does not
   * exist or its container does not run yet.
   */
  followLogs(pod: ObjectRef, options: FollowLogsOptions): Promise<Readable>
  /** Starts a command in a container of a pod. Throws `not-found` or `cluster-refused` if the pod does not exist or does not run. */
  exec(pod: ObjectRef, options: ExecOptions): Promise<Execution>
  /** Attaches to the main process of a container. Throws like `exec`. */
  attach(pod: ObjectRef, options?: AttachOptions): Promise<Attachment>
  /** Returns the events of an object, oldest first. */
  events(ref: ObjectRef): Promise<string[]>
  /** Returns the version of the API server, e.g. `v1.34.4`. */
  version(): Promise<string>
  /**
   * Returns what a Service answers to a GET of a path, which the API server passes on. Needs the permission `get services/proxy`. Throws `not-found` and `cluster-refused` for
   * other statuses than 200, and `cluster-unreachable` if nothing answers.
   */
  fromService(service: ServicePort, path: string): Promise<string>
  /** Whether the user of this access has a permission. */
  can(right: Right): Promise<boolean>
  /** Issues a token of a service account. The API server may choose a shorter lifetime. */
  issueToken(account: ObjectRef, seconds: number): Promise<{ token: string; expiresAt: string }>
  close(): void
}
