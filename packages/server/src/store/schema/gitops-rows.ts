/** The tables of GitOps runtimes and their tunnels. `schema.ts` says what columns may contain. */
import type {
  ApplicationHealth,
  ApplicationSync,
  ConnectionState,
  DefinitionKind,
  ReleaseStatus,
  ReportedKind,
} from '@windlass/protocol'
import type { Flag } from './flag.ts'

export interface GitopsRuntimeRow {
  id: string
  account_id: string
  /** A part of the name of its host. */
  name: string
  /** JSON: RuntimeInstallation. */
  installation: string
  /** JSON: list of RuntimeError. */
  errors: string
  created_by: string
  created_at: number
}

/** A token with which the parts of a runtime call the server: its tunnel client, its app-proxy and its reporters. */
export interface GitopsTokenRow {
  id: string
  account_id: string
  runtime_id: string
  /** SHA-256 of the secret, hex. */
  hash: string
  created_by: string
  created_at: number
}

/** An application of Argo CD as the reporter of its runtime reports it. */
export interface ApplicationRow {
  id: string
  account_id: string
  runtime_id: string
  namespace: string
  name: string
  /** Of the object in the cluster; empty if the report had none. */
  uid: string
  /** Resource version of the reported state. */
  version: string
  project: string
  health: ApplicationHealth
  /** 0 for the worst, in the order of `APPLICATION_HEALTHS`. */
  health_rank: number
  sync: ApplicationSync
  /** Name of its product by its label or annotation; empty without one. */
  product: string
  /** What it is in its product, which is the same in each environment; empty if nothing says it. */
  component: string
  /** What it is for its runtime, such as `git-source`, by its label; empty without one. */
  entity: string
  /** Name or URL of the cluster, and the namespace, into which it deploys. */
  cluster: string
  cluster_namespace: string
  /** The version that the last release has brought; empty without one. */
  promoted_version: string
  /** JSON: ApplicationFacts. */
  facts: string
  /** JSON: list of ApplicationResource. */
  resources: string
  /** JSON: list of ReportedDeployment, newest first. */
  deployments: string
  /** SHA-256 of what is reported, which tells whether a report changes something. */
  digest: string
  /** Id of the last full state that had it. */
  full_state: string
  /** Since when it has its health and its sync state. */
  state_since: number
  /** When the reporter read the state, by its clock. */
  reported_at: number
  /** When it was created in the cluster. */
  created_at: number
  /** Set for an application that is gone. The row stays for a day, so that late reports do not bring it back. */
  ended_at: number | null
  end_cause: 'deleted' | 'unlisted' | null
}

/** A rollout, one of its ReplicaSets or a workflow, as the reporter of its runtime reports it. */
export interface ReportedObjectRow {
  id: string
  account_id: string
  runtime_id: string
  kind: ReportedKind
  namespace: string
  name: string
  /** Of the object in the cluster; empty if the report had none. */
  uid: string
  /** Resource version of the reported state. */
  version: string
  /** The application of a rollout, the rollout of a ReplicaSet, the template of a workflow; empty if nothing says it. */
  part_of: string
  /** Of a rollout or a workflow; empty for a ReplicaSet. */
  phase: string
  /** JSON: the facts of its kind (`gitops/objects/stored-objects.ts`). */
  facts: string
  /** JSON: list of RolloutMoment or WorkflowMoment, newest first. */
  history: string
  /** Id of the last full state that had it; empty if none had it. */
  full_state: string
  /** When a report or a full state had it for the last time; 0 if a server of an earlier version has stored it. */
  listed_at: number
  /** Since when it has its phase. */
  state_since: number
  /** When the reporter read the state, by its clock. */
  reported_at: number
  /** When it was created in the cluster. */
  created_at: number
  /** Set for an object that is gone. The row stays for a day, so that late reports do not bring it back; that of a workflow stays for a week, because users look for it. */
  ended_at: number | null
  end_cause: 'deleted' | 'unlisted' | null
}

/** One part of the applications of a runtime, and the reporter that reports it. */
export interface GitopsReporterRow {
  runtime_id: string
  account_id: string
  /** Number of the part, from 0, and of all parts. */
  shard: number
  shards: number
  version: string
  /** The full state in progress or the last one, and its last chunk. Empty before the first one. */
  full_state: string
  full_chunk: number
  /** When its list was begun, by the clock of the reporter, but not after its first chunk arrived. */
  full_started_at: number
  /** When the last full state was complete. */
  full_at: number | null
  /** When the reporter last reported and could read everything; for a part that never reported, since when its existence is known. */
  seen_at: number
  /** When the reporter last reported; null for a part that never did. */
  heard_at: number | null
  /** True if it could not read all of its namespaces then. */
  is_blind: Flag
}

/** What the app-proxy of a runtime has said about the runtime. */
export interface RuntimeStatusRow {
  runtime_id: string
  account_id: string
  /** Of the app-proxy. */
  version: string
  /** JSON of `RuntimeReport`. */
  report: string
  seen_at: number
}

/** A cluster that the Argo CD of a runtime knows. */
export interface ReportedClusterRow {
  runtime_id: string
  account_id: string
  /** URL of the API server. */
  server: string
  name: string
  connection: ConnectionState
  /** JSON of `ClusterState`. */
  facts: string
  /** Id of the report that had it last. */
  report: string
  reported_at: number
}

/** The last connection of a runtime. */
export interface TunnelRow {
  runtime_id: string
  account_id: string
  /** Id of the connection. The server that has it changes the row only while it is this one. */
  session: string
  token_id: string
  /** Random per process of the client. */
  client: string
  client_version: string
  /** Address of the client. */
  address: string
  /** Id of the server that has the connection. */
  server: string
  /** Where other servers reach that one; null if they cannot. */
  server_url: string | null
  /** `connecting` until the client has answered. */
  state: 'connecting' | 'online' | 'offline'
  connected_at: number
  /** Time of the last answer of the client, or of the end of the connection. */
  seen_at: number
}

/** An environment, a product, or what promotions follow. */
export interface DefinitionRow {
  id: string
  account_id: string
  kind: DefinitionKind
  name: string
  /** JSON: the input of its kind. */
  spec: string
  created_by: string
  created_at: number
  changed_by: string
  changed_at: number
}

/** A release of a product. */
export interface ReleaseRow {
  id: string
  account_id: string
  /** Name of the product. */
  product: string
  number: number
  status: ReleaseStatus
  /** JSON: StoredRelease. */
  state: string
  created_at: number
  started_at: number | null
  ended_at: number | null
}

/** What a product knows of the commits of one of its applications. */
export interface ReleaseTriggerRow {
  id: string
  account_id: string
  /** Name of the product. */
  product: string
  application_id: string
  /** JSON: StoredTrigger. */
  state: string
}

/** What the app-proxy of a runtime does in Git for a release or a trigger. */
export interface ErrandRow {
  id: string
  account_id: string
  runtime_id: string
  /** Id of the release, of its trigger, or of the message about a commit that it belongs to. */
  release_id: string
  /** JSON: ErrandWork. */
  work: string
  state: 'waiting' | 'taken' | 'done'
  /** When it can be claimed; for one that is taken, when its lease ends. */
  due_at: number
  /** How often it was claimed. */
  tries: number
  /** JSON: ErrandResult. */
  result: string | null
  created_at: number
}

/** A call at an app-proxy, or one that this server makes there, whose end is not known. */
export interface RuntimeCallRow {
  /** Given by the app-proxy. */
  id: string
  account_id: string
  runtime_id: string
  /** JSON: StoredCall. */
  call: string
  begun_at: number
  /** When the audit log got a record that says that the end is not known; null before. */
  lost_at: number | null
}

/** What a workflow, a job or a build has said about an image. */
export interface ImageReportRow {
  id: string
  account_id: string
  /** Of the image, with its registry. */
  name: string
  digest: string
  /** Id of the runtime or of the build that has reported it; empty for API keys. */
  source: string
  workflow: string
  /** Hash of its commit; empty if it is not known. */
  revision: string
  /** JSON: list of the tags that it had. */
  tags: string
  /** JSON: ReportFacts. */
  facts: string
  created_at: number
  /** When it was last reported. */
  reported_at: number
}
