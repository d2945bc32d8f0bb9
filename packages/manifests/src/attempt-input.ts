/** The input for rendering the objects of an attempt. */
import type { RuntimeSpec } from '@windlass/protocol'
import type { DockerCertificates } from './certificates.ts'

export interface AttemptInput {
  readonly buildId: string
  /** 1 for the first attempt; later ones have the suffix `-retry-<attempt - 1>` in their names. */
  readonly attempt: number
  readonly runtime: { readonly name: string; readonly spec: RuntimeSpec }
  readonly account: string
  readonly pipelineId?: string | undefined
  readonly projectId?: string | undefined
  /** Value of the label `trigger`. */
  readonly trigger?: string | undefined
  readonly branch?: string | undefined
  /** Base URL of the server for pods of the cluster. */
  readonly serverUrl: string
  /** PEM of the CAs that the engine trusts in addition to the public ones. */
  readonly serverCa?: string | undefined
  /**
   * Credential for one exchange. Must be the same in all renderings of an attempt, because the first one that reaches the cluster is kept.
   */
  readonly bootstrap: string
  /** With v1 only its CA is used: the daemon trusts clients that it has signed. */
  readonly certificates: DockerCertificates
  /** Epoch milliseconds. */
  readonly now: number
  readonly resetVolume?: boolean | undefined
  /** The engine waits for a build instead of claiming one at once. */
  readonly isWarm?: boolean | undefined
  /** Builds whose disk is preferred: this one, and the one that it repeats. */
  readonly builds?: readonly string[] | undefined
  /** Secrets and ConfigMaps that the engine reads instead of a secret store: mounted at `folder`, with a file per key. */
  readonly stores?: readonly StoreMount[] | undefined
  /**
   * Protocol of the agent. `v1` supports only claims and pods, no Secret: the daemon takes its certificate from the shared Secret
   * `codefresh-certs-server`, the bootstrap credential is in the environment of the engine, and its client certificate comes with the
   * answer to its claim. Default: `v2`.
   */
  readonly protocol?: 'v1' | 'v2' | undefined
}

export interface StoreMount {
  readonly folder: string
  readonly resourceType: 'secret' | 'configmap'
  readonly resourceName: string
}
