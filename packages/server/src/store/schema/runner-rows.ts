/** The tables of agents, runtimes, their tasks, and what monitors report. `schema.ts` says what columns may contain. */
import type { MonitoredKind } from '@windlass/protocol'
import type { Flag } from './flag.ts'

export interface AgentRow {
  id: string
  account_id: string
  name: string
  hash: string
  /** JSON: names of the runtimes that it serves in addition to those that name it. */
  runtimes: string
  executor: string | null
  version: string | null
  /** Grows with each process that uses this identity; fences older ones. */
  epoch: number
  instance: string | null
  /** Highest number of the facts of `instance` that are stored. */
  fact_seq: number
  /** Version of the agent protocol in its last call. */
  protocol: 1 | 2 | null
  /** The last message of the agent about itself. */
  message: string | null
  /** Base URL at which it reaches the server; null if not known yet. */
  server_url: string | null
  /** JSON: features of its last hello; null before the first, and for protocol v1. */
  features: string | null
  /** Number of the last report of disks among those of all processes; 0 before the first. */
  disk_seq: number
  disks_at: number | null
  /** Disks that the last report left out. */
  disks_hidden: number
  /** JSON: runtimes whose disks it could not read, with messages. */
  disks_failed: string | null
  /** Time of its latest call, within five seconds. */
  last_seen_at: number | null
  /** Time since which it calls without a pause. */
  heard_since: number | null
  created_at: number
}

export interface RuntimeRow {
  id: string
  account_id: string
  name: string
  type: 'kubernetes' | 'docker' | 'fake'
  /** Name of the agent. */
  agent: string | null
  is_default: Flag
  /** JSON: the layer as written, and the result of merging it with everything that it extends. */
  layer: string
  spec: string
  /** Increases with every change. */
  version: number
  changed_by: string
  created_at: number
  updated_at: number
}

/** One version of the layer of a runtime. */
export interface RuntimeVersionRow {
  account_id: string
  runtime_id: string
  version: number
  layer: string
  changed_by: string
  description: string | null
  created_at: number
}

/** A layer that replaces a built-in one. */
export interface BaseLayerRow {
  account_id: string
  name: string
  layer: string
  version: number
  changed_by: string
  updated_at: number
}

export interface TaskRow {
  id: string
  account_id: string
  agent_id: string
  /** What the task is about. Null in tasks of servers that did not have the column (`store/runtimes/tasks.ts`). */
  subject_kind: 'attempt' | 'warm-pair' | null
  /** Id of the subject: of the build of an attempt, or of the pair. Older servers read the column by this name. */
  build_id: string
  /** Number of the attempt; 1 for a pair. */
  attempt: number
  kind: 'start-attempt' | 'stop-attempt'
  status: 'queued' | 'leased' | 'done' | 'refused' | 'withdrawn'
  /** Number of the latest handover; 0 before the first. */
  revision: number
  failures: number
  /** Not handed out before this time. */
  available_at: number
  leased_until: number | null
  runtime: string
  /** JSON: RuntimeInput of a start task; graceMs of a stop task. */
  payload: string
  created_at: number
  claimed_at: number | null
  done_at: number | null
}

/** One object that an agent of protocol v1 must create or delete for one of our tasks. */
export interface ObjectTaskRow {
  id: string
  account_id: string
  task_id: string
  agent_id: string
  build_id: string
  attempt: number
  runtime: string
  kind: 'CreatePvc' | 'CreatePod' | 'DeletePod' | 'DeletePvc'
  namespace: string
  name: string
  /** Position within its task. */
  position: number
  status: 'queued' | 'handed' | 'done'
  /** Revision of the last accepted report; the next report must have the next revision. */
  revision: number
  failures: number
  /** How often it was handed out since the last report. */
  handed: number
  available_at: number
  leased_until: number | null
  /** The latest time at which a pod is gone whose deletion was accepted. */
  settles_at: number | null
  created_at: number
  done_at: number | null
}

/** Progress of an installation as reported by its installer. */
export interface InstallationRow {
  id: string
  account_id: string
  name: string | null
  /** JSON: InstallationInput.options. */
  options: string
  status: 'running' | 'success' | 'failure'
  /** JSON: Installation.events. */
  events: string
  created_at: number
  updated_at: number
}

/** A process that reports a cluster. */
export interface MonitorRow {
  account_id: string
  cluster: string
  agent_id: string
  generation: string
  version: string
  cluster_version: string | null
  /** JSON: list of strings; null for the whole cluster. */
  namespaces: string | null
  /** Last applied batch of the generation. */
  seq: number
  seen_at: number
  created_at: number
}

/** The last report of a monitor about an object. */
export interface ClusterObjectRow {
  account_id: string
  cluster: string
  kind: MonitoredKind
  namespace: string
  name: string
  uid: string
  generation: string
  /** JSON: string -> string. */
  labels: string
  /** JSON: string -> string, number or boolean. */
  summary: string
  created_at: number | null
  seen_at: number
}

/** A pair of engine and daemon that is kept ready for a build. */
export interface WarmPairRow {
  id: string
  account_id: string
  runtime: string
  agent_id: string
  /** `taken`: a build uses it, and it is removed with the attempt of the build. */
  status: 'starting' | 'ready' | 'taken' | 'stopping' | 'gone'
  bootstrap_id: string
  bootstrap_hash: string
  /** Id of the master key from which its credential is derived. */
  key_id: string
  /** Hash of the runtime spec when the pair was created. */
  spec_hash: string
  /** Equal for builds that may use its disk. */
  fit_key: string
  /** JSON: RuntimeSpec. */
  spec: string
  /** Copied from the build that it was created for. */
  pipeline_id: string | null
  project_id: string | null
  /** Value of the label `trigger`. */
  trigger_name: string | null
  branch: string | null
  docker_host: string | null
  build_id: string | null
  attempt: number | null
  /** Why it failed. */
  message: string | null
  /** When its engine last requested a build. */
  waits_at: number | null
  /** When it last waited for its turn on the nodes. */
  turn_at: number | null
  /** When its engine was first seen running. */
  engine_since: number | null
  created_at: number
  ready_at: number | null
  ended_at: number | null
}
