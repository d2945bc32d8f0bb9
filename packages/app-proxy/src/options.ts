/** What an app-proxy is started with. */
import type { Clock, Logger, ProxySettings, ResolveName } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import type { ClientOptions } from '@windlass/protocol'
import type { ImageReports } from './http/image-report-route.ts'
import type { SealingServer } from './sealed/certificate.ts'
import type { ReportTimes } from './status/report-runtime.ts'
import type { LogArchiveOptions } from './workflows/archive.ts'

export interface AppProxyOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** 0: any free port. */
  readonly port: number
  /** The control plane. */
  readonly server: Omit<ClientOptions, 'token'>
  readonly runtime: string
  readonly accountId: string
  readonly tokenFile: string
  readonly previousTokenFile?: string | undefined
  /** Name of the Secret in the namespace of the runtime that has the token and `storeIv`, so that its loss is seen. Without it, only the file is looked at. */
  readonly tokenSecret?: string | undefined
  /** Random text that is a part of the key of Git tokens. */
  readonly storeIv: string
  /** Origins of pages that may call. */
  readonly origins: readonly string[]
  /** Path below which callers reach the app-proxy. Default: `/app-proxy`. */
  readonly pathPrefix?: string | undefined
  /** True to refuse calls that did not come by HTTPS. */
  readonly requireHttps?: boolean | undefined
  /** False for a Runner, which has no Argo CD and no shared configuration repository. Default: true. */
  readonly servesGitops?: boolean | undefined
  /** True for a runtime that is limited to its namespace. Default: false. */
  readonly isNamespaced?: boolean | undefined
  /** True for a runtime in the cluster of the server, with others beside it. Default: false. */
  readonly isHosted?: boolean | undefined
  readonly kube: Kube
  readonly namespace: string
  /** The server of Argo CD. Without it, the objects of applications are not shown. */
  readonly argo?: { readonly server: Omit<ClientOptions, 'token'>; readonly tokenFile: string } | undefined
  /** True if Argo Workflows runs in the namespace, and the account of the app-proxy may operate it. Default: false. */
  readonly operatesWorkflows?: boolean | undefined
  /** Where Argo Workflows archives the logs of pods. Without it, logs of deleted pods are gone. */
  readonly logArchive?: Omit<LogArchiveOptions, 'proxy'> | undefined
  /** The controller of Sealed Secrets. Without it, logins of registries and Jira cannot be kept in Git. */
  readonly sealing?: SealingServer | undefined
  /** The workflow that reports images. Default: none. */
  readonly imageReports?: ImageReports | undefined
  /** PEM file with the certificate authorities of forges. */
  readonly forgeCaFile?: string | undefined
  readonly proxy: ProxySettings
  /** Resolves names of forges. Default: the operating system. */
  readonly resolve?: ResolveName | undefined
  /** True if forges may be at loopback addresses. False in a pod, whose loopback addresses are its own. */
  readonly mayUseLoopback: boolean
  /** Folder for temporary repositories. */
  readonly workFolder: string
  /** Bytes that a commit may fetch. Default: 512 MiB. */
  readonly maxFetchBytes?: number | undefined
  /** Port for `/metrics`. Default: none. */
  readonly metricsPort?: number | undefined
  /** Clusters in one report to the control plane; 0: as many as a report may have. Default: 50. */
  readonly clusterChunk?: number | undefined
  /** How often the state of the runtime is checked and reported. Default: checks each 10 s, clusters and forges each minute. */
  readonly reporting?: ReportTimes | undefined
  /** Time after a stop in which new calls are still accepted: Kubernetes leads some to a pod that it has already told to stop. Milliseconds. */
  readonly lingerMs: number
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly version: string
  readonly clock: Clock
  readonly log: Logger
}
