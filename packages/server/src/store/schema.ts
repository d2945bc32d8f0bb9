/**
 * The tables, as Kysely sees them. Portable: text, integer and bigint only; times are epoch milliseconds; booleans are 0 or 1; JSON is text
 * that nobody queries inside. Columns are explained here and nowhere else.
 */
import type { AnnotatedEntity, ApprovalAction, AttemptStatus, BuildStatus, Reason, ResumeCause } from '@windlass/plan'
import type { Command, DebugPhase, MonitoredKind } from '@windlass/protocol'

export type Flag = 0 | 1

export interface Schema {
  meta: MetaRow
  account: AccountRow
  api_key: ApiKeyRow
  agent: AgentRow
  runtime: RuntimeRow
  runtime_version: RuntimeVersionRow
  base_layer: BaseLayerRow
  project: ProjectRow
  pipeline: PipelineRow
  context: ContextRow
  step_type: StepTypeRow
  build: BuildRow
  build_plan: BuildPlanRow
  attempt: AttemptRow
  approval: ApprovalRow
  annotation: AnnotationRow
  image: ImageRow
  event: EventRow
  stream: StreamRow
  chunk: ChunkRow
  task: TaskRow
  object_task: ObjectTaskRow
  installation: InstallationRow
  command: CommandRow
  terminal: TerminalRow
  terminal_part: TerminalPartRow
  reply: ReplyRow
  monitor: MonitorRow
  cluster_object: ClusterObjectRow
  warm_pair: WarmPairRow
}

export interface MetaRow {
  key: string
  value: string
}

export interface AccountRow {
  id: string
  name: string
  last_build_number: number
  /** JSON: AccountSettings. */
  settings: string
  created_at: number
}

export interface ApiKeyRow {
  id: string
  account_id: string
  name: string
  role: 'admin' | 'user' | 'viewer'
  /** JSON: Scope[]; null for all that the role allows. */
  scopes: string | null
  hash: string
  created_at: number
}

export interface AgentRow {
  id: string
  account_id: string
  name: string
  hash: string
  /** JSON: names of the runtimes it serves besides those that name it. */
  runtimes: string
  executor: string | null
  version: string | null
  /** Grows with each process that takes this identity; fences the older ones. */
  epoch: number
  instance: string | null
  /** Highest number of the facts of `instance` that are stored. */
  fact_seq: number
  /** Of the agent protocol that it spoke last. */
  protocol: 1 | 2 | null
  /** What it said of itself last. */
  message: string | null
  last_seen_at: number | null
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
  /** JSON: the layer that was written, and it merged with everything that it extends. */
  layer: string
  spec: string
  /** Grows with every change. */
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

/** A layer that stands in the place of one that comes with the server. */
export interface BaseLayerRow {
  account_id: string
  name: string
  layer: string
  version: number
  changed_by: string
  updated_at: number
}

export interface ProjectRow {
  id: string
  account_id: string
  name: string
  /** JSON: name -> value. */
  variables: string
  created_at: number
  updated_at: number
}

export interface PipelineRow {
  id: string
  account_id: string
  project_id: string | null
  name: string
  document: string
  /** JSON: PipelineVariable[], the values of encrypted ones sealed. */
  variables: string
  /** JSON: names of contexts. */
  contexts: string
  runtime: string | null
  /** Most builds at once; null is unlimited. */
  concurrency: number | null
  branch_concurrency: number | null
  trigger_concurrency: number | null
  /** JSON: PipelineSettings, what of the document is acted on elsewhere than in the election. */
  settings: string
  priority: number
  revision: number
  created_at: number
  updated_at: number
}

export interface ContextRow {
  id: string
  account_id: string
  name: string
  type: 'config' | 'secret' | 'yaml' | 'secret-yaml' | 'git' | 'registry' | 'kubernetes' | 'secret-store'
  is_default: Flag
  /** JSON: field -> value; the values of secret fields are sealed. */
  data: string
  created_at: number
  updated_at: number
}

/** One version of a step type. */
export interface StepTypeRow {
  id: string
  account_id: string
  name: string
  version: string
  description: string
  /** YAML as written. */
  manifest: string
  created_at: number
  updated_at: number
}

export interface BuildRow {
  id: string
  account_id: string
  project_id: string | null
  project: string | null
  pipeline_id: string | null
  pipeline: string | null
  number: number
  status: BuildStatus
  reason: Reason | null
  message: string | null
  hint: string | null
  branch: string | null
  revision: string | null
  /** Name of the runtime; null until one is chosen by default. */
  runtime: string | null
  priority: number
  initiator: string
  trigger: string
  /** The trigger of the pipeline that it was started by, or that it pretends to be started by. */
  trigger_name: string | null
  restart_of: string | null
  /** Number of the latest attempt, 0 before the first. */
  attempt: number
  /** How many attempts were made again after a loss of infrastructure. */
  retries: number
  /** Losses in a row for which the build itself may be to blame. */
  losses: number
  /** 1 while the objects of a lost attempt may still exist: no new attempt is made. */
  held: Flag
  /** 1 when it counts against the limits of its pipeline while it waits for an approval. */
  approval_counts: Flag
  /** 1 when its volume is kept for it while it waits for an approval. */
  keeps_volume: Flag
  /** Last position given out in the feed. */
  feed_position: number
  /** Name of the docker volume that its steps share; chosen at its first election and kept by its later attempts. */
  volume: string | null
  /** What ends a build that is terminating. */
  cancel_reason: Reason | null
  /** How long it has waited for approvals so far, milliseconds, and since when it does now. */
  paused_ms: number
  paused_at: number | null
  created_at: number
  /** Since when it waits for its next attempt, or waited for its latest. */
  queued_at: number
  elected_at: number | null
  started_at: number | null
  terminating_at: number | null
  finished_at: number | null
}

export interface BuildPlanRow {
  build_id: string
  account_id: string
  document: string
  /** JSON: BuildInput without its secrets, for a restart. */
  request: string
  /** JSON; null when the document has errors. */
  plan: string | null
  /** JSON: problems of the document. */
  problems: string | null
  /** Sealed JSON: secret name -> value. */
  secrets: string | null
  /** JSON: the step types that the document uses (name, version, text); null when none. */
  step_types: string | null
  /** The pipeline document that stands in a repository or behind a URL, as it was fetched for this build. */
  fetched: string | null
}

export interface AttemptRow {
  build_id: string
  number: number
  account_id: string
  /** Agent that carries it out. */
  agent_id: string
  runtime: string
  /** Of the agent protocol that its objects were made by. */
  protocol: 1 | 2
  status: AttemptStatus
  result: 'success' | 'error' | 'terminated' | 'pending-approval' | 'lost' | null
  reason: Reason | null
  message: string | null
  /** JSON: RuntimeSpec.limits, as they were when the attempt was made. */
  limits: string
  /** Why the build goes on in this attempt; null for the first one of a build that begins from nothing. */
  cause: ResumeCause | null
  bootstrap_id: string
  bootstrap_hash: string
  claim_key: string | null
  token_id: string
  token_hash: string | null
  /** All events of the engine up to here are stored. */
  ack_seq: number
  /** When the engine was last heard of. */
  seen_at: number | null
  /** Last output stored; tells a silent engine from a busy one when it is asked to stop. */
  output_at: number | null
  /** Last sign that something happens inside: a step that begins or ends, or a container that uses the processor or the disk. */
  active_at: number | null
  /** JSON: step -> what its containers have used so far, as one number that grows while they do something. */
  use: string | null
  /** When its first step began, and when its last one ended while none runs. */
  steps_began_at: number | null
  steps_ended_at: number | null
  /** What its pods wait for, since when, in the words of the cluster. */
  waiting_reason: Reason | null
  waiting_message: string | null
  waiting_since: number | null
  /** Where its Docker daemon listens, once its agent has seen it. */
  docker_host: string | null
  /** The warm pair whose objects it runs in; null when it has objects of its own. */
  pair_id: string | null
  /** 1 when nothing of it can exist in the cluster. */
  gone: Flag
  created_at: number
  started_at: number | null
  ended_at: number | null
}

/** An approval that a step of a build asked for. */
export interface ApprovalRow {
  build_id: string
  step: string
  account_id: string
  /** The attempt that asked last. */
  attempt: number
  /** Since when it waits, over all attempts, and when its time is over. */
  waiting_since: number
  expires_at: number
  final_state: ApprovalAction['finalState']
  /** Null while nobody has decided; written once. */
  decision: 'approved' | 'denied' | 'terminated' | null
  comment: string | null
  decided_by: string | null
  decider_type: string | null
  decided_at: number | null
  /** 1 when an engine knows the decision. */
  seen: Flag
}

/** One annotation, or one entry of an image's metadata. */
/** An image that a step built or pushed; one row for each name that a step gave. */
export interface ImageRow {
  id: string
  account_id: string
  build_id: string
  pipeline_id: string | null
  step: string
  /** As the Docker daemon of the build, or a registry, knows it. */
  image_id: string
  name: string
  /** JSON: list of texts. */
  tags: string
  digest: string | null
  /** Of what it is made of; null when that cannot be told. */
  content_hash: string | null
  pushed: Flag
  /** Null when nothing was built. */
  cache_hits: number | null
  cache_misses: number | null
  size_bytes: number | null
  created_at: number
}

export interface AnnotationRow {
  account_id: string
  entity: AnnotatedEntity
  /** Id of the build, pipeline or project; an image's id or name. */
  entity_id: string
  kind: 'annotation' | 'metadata'
  name: string
  /** JSON: text, number or boolean. */
  value: string
  /** 1 for the one that lists show. */
  display: Flag
  updated_at: number
}

export interface EventRow {
  build_id: string
  position: number
  account_id: string
  attempt: number
  source: 'server' | 'engine' | 'agent'
  seq: number
  at: number
  type: string
  /** JSON; values of secret exports are sealed. */
  data: string
}

export interface StreamRow {
  build_id: string
  attempt: number
  stream: string
  bytes: number
}

export interface ChunkRow {
  build_id: string
  position: number
  account_id: string
  attempt: number
  stream: string
  /** Offset in the stream, and length. Bytes. */
  start: number
  bytes: number
  at: number
  object: string
  /** Offset in the object. */
  object_start: number
}

export interface TaskRow {
  id: string
  account_id: string
  agent_id: string
  build_id: string
  attempt: number
  kind: 'start-attempt' | 'stop-attempt'
  status: 'queued' | 'leased' | 'done' | 'refused' | 'withdrawn'
  /** Number of the latest hand-over; 0 before the first. */
  revision: number
  failures: number
  /** Not handed out before. */
  available_at: number
  leased_until: number | null
  runtime: string
  /** JSON: RuntimeInput of a start task; graceMs of a stop task. */
  payload: string
  created_at: number
  claimed_at: number | null
  done_at: number | null
}

/** One object that an agent of protocol 1 is to make or to delete for a task of ours. */
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
  /** Place among those of its task. */
  position: number
  status: 'queued' | 'handed' | 'done'
  /** Of the last report that was taken; a report counts when its revision is the next one. */
  revision: number
  failures: number
  /** How often it was handed out since the last report. */
  handed: number
  available_at: number
  leased_until: number | null
  /** When a pod whose deletion was accepted is gone at the latest. */
  settles_at: number | null
  created_at: number
  done_at: number | null
}

/** What an installer tells of its progress. */
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

export interface CommandRow {
  build_id: string
  id: number
  attempt: number
  type: Command['type']
  /** JSON: the other fields of the command. */
  data: string
  at: number
}

/** The answer to a call with an Idempotency-Key. */
export interface ReplyRow {
  account_id: string
  actor_id: string
  key: string
  /** Hash of method, path and body. */
  request_hash: string
  /** 0 while the call is being carried out. */
  status: number
  /** Sealed: it may hold a token. */
  body: string | null
  created_at: number
}

/** A person's terminal in a step that the debugger holds. */
export interface TerminalRow {
  id: string
  account_id: string
  build_id: string
  attempt: number
  step: string
  phase: DebugPhase
  opened_by: string
  /** Why it ended, when it did not by itself. */
  message: string | null
  exit_code: number | null
  /** Numbers of the last parts that are stored, in both directions. */
  in_seq: number
  out_seq: number
  /** Last sign of whoever looks at it. */
  seen_at: number
  created_at: number
  ended_at: number | null
}

/** A piece on its way between a person and an engine; gone when the other side has it. */
export interface TerminalPartRow {
  terminal_id: string
  build_id: string
  direction: 'in' | 'out'
  seq: number
  /** Of input JSON (TerminalPart), of output base64. */
  data: string
  bytes: number
}

/** A process that reports a cluster. */
export interface MonitorRow {
  account_id: string
  cluster: string
  agent_id: string
  generation: string
  version: string
  cluster_version: string | null
  /** JSON: list of texts; null for the whole cluster. */
  namespaces: string | null
  /** Last batch of the generation that was applied. */
  seq: number
  seen_at: number
  created_at: number
}

/** What a monitor last said of an object. */
export interface ClusterObjectRow {
  account_id: string
  cluster: string
  kind: MonitoredKind
  namespace: string
  name: string
  uid: string
  generation: string
  /** JSON: text by text. */
  labels: string
  /** JSON: text, number or boolean by text. */
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
  /** `taken`: a build has it; it goes with the build's attempt. */
  status: 'starting' | 'ready' | 'taken' | 'stopping' | 'gone'
  bootstrap_id: string
  bootstrap_hash: string
  /** Of the runtime as it was when the pair was made. */
  spec_hash: string
  /** Equal for builds that may have its disk. */
  fit_key: string
  /** JSON: RuntimeSpec. */
  spec: string
  /** Of the build that it is like. */
  pipeline_id: string | null
  project_id: string | null
  trigger_name: string | null
  branch: string | null
  docker_host: string | null
  build_id: string | null
  attempt: number | null
  /** Why it failed. */
  message: string | null
  /** When its engine last asked for a build. */
  waits_at: number | null
  created_at: number
  ready_at: number | null
  ended_at: number | null
}
