/**
 * The tables for Kysely. Portable: only text, integer and bigint; times are epoch milliseconds; booleans are 0 or 1; JSON is text
 * that is never queried inside. Only this file and its parts (`*-rows.ts`, `user-schema.ts`) document columns.
 */
import type {
  AnnotatedEntity,
  ApprovalAction,
  AttemptStatus,
  BuildStatus,
  Reason,
  ResumeCause,
  TriggerKind,
} from '@windlass/plan'
import type { Command, DebugPhase } from '@windlass/protocol'
import type {
  ApiKeyRow,
  AuditChainRow,
  AuditRow,
  DeviceCodeRow,
  IdentityRow,
  InvitationRow,
  PipelineRoleRow,
  PreferenceRow,
  ProjectRoleRow,
  SessionCodeRow,
  SessionRow,
  SharedLinkRow,
  SharedViewRow,
  SigningKeyRow,
  TeamMemberRow,
  TeamRow,
  UserRow,
} from './user-schema.ts'
import type { Flag } from './flag.ts'
import type { GitlabJobRow, GitlabManagerRow } from './gitlab-rows.ts'
import type {
  ApplicationRow,
  DefinitionRow,
  ErrandRow,
  GitopsReporterRow,
  GitopsRuntimeRow,
  GitopsTokenRow,
  ReleaseRow,
  ReleaseTriggerRow,
  ReportedClusterRow,
  ImageReportRow,
  ReportedObjectRow,
  RuntimeCallRow,
  RuntimeStatusRow,
  TunnelRow,
} from './gitops-rows.ts'
import type { AgentCheckRow, AgentJobRow, ContextCheckRow, DiskRow } from './disk-rows.ts'
import type { ChunkRow, DeadObjectRow, StreamMarksRow, StreamRow } from './log-rows.ts'
import type { MessageRow } from './message-rows.ts'
import type { NotificationSchema } from './notification-rows.ts'
import type {
  AgentRow,
  BaseLayerRow,
  ClusterObjectRow,
  InstallationRow,
  MonitorRow,
  ObjectTaskRow,
  RuntimeRow,
  RuntimeVersionRow,
  TaskRow,
  WarmPairRow,
} from './runner-rows.ts'
import type { StatsSchema } from './stats-rows.ts'
import type { TriggerSchema } from './trigger-rows.ts'

export type * from './disk-rows.ts'
export type * from './flag.ts'
export type * from './log-rows.ts'
export type * from './message-rows.ts'
export type * from './notification-rows.ts'
export type * from './runner-rows.ts'
export type * from './gitlab-rows.ts'
export type * from './gitops-rows.ts'
export type * from './stats-rows.ts'
export type * from './trigger-rows.ts'

export interface Schema extends TriggerSchema, NotificationSchema, StatsSchema {
  meta: MetaRow
  message: MessageRow
  account: AccountRow
  api_key: ApiKeyRow
  session: SessionRow
  session_code: SessionCodeRow
  user_account: UserRow
  project_role: ProjectRoleRow
  pipeline_role: PipelineRoleRow
  team: TeamRow
  team_member: TeamMemberRow
  invitation: InvitationRow
  user_identity: IdentityRow
  signing_key: SigningKeyRow
  shared_link: SharedLinkRow
  device_code: DeviceCodeRow
  preference: PreferenceRow
  shared_view: SharedViewRow
  audit: AuditRow
  audit_chain: AuditChainRow
  agent: AgentRow
  runtime: RuntimeRow
  runtime_version: RuntimeVersionRow
  base_layer: BaseLayerRow
  project: ProjectRow
  pipeline: PipelineRow
  pipeline_version: PipelineVersionRow
  context: ContextRow
  step_type: StepTypeRow
  build: BuildRow
  build_plan: BuildPlanRow
  attempt: AttemptRow
  approval: ApprovalRow
  annotation: AnnotationRow
  image: ImageRow
  event: EventRow
  build_data: BuildDataRow
  stream: StreamRow
  stream_marks: StreamMarksRow
  chunk: ChunkRow
  dead_object: DeadObjectRow
  task: TaskRow
  object_task: ObjectTaskRow
  disk: DiskRow
  agent_job: AgentJobRow
  agent_check: AgentCheckRow
  context_check: ContextCheckRow
  gitlab_manager: GitlabManagerRow
  gitlab_job: GitlabJobRow
  gitops_runtime: GitopsRuntimeRow
  gitops_token: GitopsTokenRow
  tunnel: TunnelRow
  gitops_application: ApplicationRow
  gitops_object: ReportedObjectRow
  gitops_reporter: GitopsReporterRow
  gitops_runtime_status: RuntimeStatusRow
  gitops_cluster: ReportedClusterRow
  gitops_definition: DefinitionRow
  gitops_release: ReleaseRow
  gitops_errand: ErrandRow
  gitops_release_trigger: ReleaseTriggerRow
  gitops_call: RuntimeCallRow
  image_report: ImageReportRow
  installation: InstallationRow
  command: CommandRow
  terminal: TerminalRow
  terminal_part: TerminalPartRow
  reply: ReplyRow
  monitor: MonitorRow
  cluster_object: ClusterObjectRow
  warm_pair: WarmPairRow
  replica: ReplicaRow
}

export interface MetaRow {
  key: string
  value: string
}

/** A server that shares the database with others. */
export interface ReplicaRow {
  id: string
  /** JSON: ids of its master keys. */
  keys: string
  seen_at: number
  /** Null for servers of earlier versions. */
  version: string | null
  /** 99th percentile of the delay of its event loop. Milliseconds. */
  lag_ms: number | null
}

export interface AccountRow {
  id: string
  name: string
  last_build_number: number
  /** JSON: AccountSettings. */
  settings: string
  created_at: number
}

/** Limits of a project. Null: only those of the account and the settings of the server apply. */
export interface ProjectQuotas {
  /** Maximum number of concurrent builds of its pipelines. */
  concurrency: number | null
  /** How long builds and logs are kept after the end of the build. Days. */
  build_days: number | null
  log_days: number | null
  /** Maximum number of ended builds. */
  max_builds: number | null
  /** Maximum size of the logs of ended builds, as received. Bytes. */
  max_log_bytes: number | null
}

export interface ProjectRow extends ProjectQuotas {
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
  /** Maximum concurrent builds; null for no limit. */
  concurrency: number | null
  branch_concurrency: number | null
  trigger_concurrency: number | null
  /** JSON: PipelineSettings, the settings that the election does not use. */
  settings: string
  priority: number
  revision: number
  created_at: number
  updated_at: number
}

/** A stored state of a pipeline. Its number is the revision of the pipeline. */
export interface PipelineVersionRow {
  pipeline_id: string
  version: number
  account_id: string
  /** JSON: VersionContent, without the values of encrypted variables. */
  content: string
  bytes: number
  /** Null if a server of an earlier version wrote it. */
  changed_by: string | null
  /** Why it was written. */
  message: string | null
  created_at: number
}

export interface ContextRow {
  id: string
  account_id: string
  name: string
  type: 'config' | 'secret' | 'yaml' | 'secret-yaml' | 'git' | 'registry' | 'kubernetes' | 'secret-store'
  is_default: Flag
  /** JSON: field -> value; the values of secret fields are sealed. */
  data: string
  /** When the access token of an OAuth app expires; null for a context that is not renewed. */
  expires_at: number | null
  /** No server renews the token before this time: a server is renewing it, or the forge asked to wait. */
  renew_after: number | null
  /** Why the last renewal failed. */
  problem: string | null
  /** When the forge refused to renew the token; null if it did not. */
  refused_at: number | null
  /** Null if an earlier version wrote it last. */
  changed_by: string | null
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
  /** Version of the pipeline with which it was created; null without a pipeline, and for builds of earlier versions. */
  pipeline_version: number | null
  /** Name of the file of its document; null with a pipeline, if the request named none, and for builds of earlier versions. */
  document_file: string | null
  number: number
  status: BuildStatus
  reason: Reason | null
  message: string | null
  hint: string | null
  branch: string | null
  revision: string | null
  /** First line of the message of the commit, and its author, as given with the request. At most 200 characters each. */
  commit_message: string | null
  commit_author: string | null
  /** Name of the runtime; null until the default is chosen. */
  runtime: string | null
  priority: number
  initiator: string
  trigger: TriggerKind
  /** The trigger of the pipeline that started it, or that the user selected. */
  trigger_name: string | null
  restart_of: string | null
  /** The build that started it. */
  parent_id: string | null
  /** How many builds have started one another, up to this one, by triggers on their ends. */
  depth: number
  /** Number of the latest attempt; 0 before the first. */
  attempt: number
  /** Number of attempts that were repeated after a loss of infrastructure. */
  retries: number
  /** Consecutive losses that the build itself may have caused. */
  losses: number
  /** 1 while objects of a lost attempt may still exist, which prevents a new attempt. */
  held: Flag
  /** 1 if it counts against the limits of its pipeline while it waits for an approval. */
  approval_counts: Flag
  /** 1 if its volume is kept while it waits for an approval. */
  keeps_volume: Flag
  /** Last assigned position in the feed. */
  feed_position: number
  /** Name of the Docker volume that its steps share; chosen at its first election and kept for later attempts. */
  volume: string | null
  /** Reason for which a terminating build ends. */
  cancel_reason: Reason | null
  /** Total time that it has waited for approvals in milliseconds, and since when it waits now. */
  paused_ms: number
  paused_at: number | null
  created_at: number
  /** Since when it waits for its next attempt, or waited for its latest one. */
  queued_at: number
  elected_at: number | null
  started_at: number | null
  terminating_at: number | null
  finished_at: number | null
  /** When its log was deleted because of its age; its positions are missing in the feed since then. */
  logs_expired_at: number | null
  /** When its log files must be merged; in the future while a server merges them; null if there is nothing to do. */
  compact_at: number | null
  /** Number of small files written since its log was last merged. */
  small_objects: number
  /** Feed position up to which the log was merged while the build ran. */
  compacted_to: number
  /** When the build was last followed, within half a minute. */
  followed_at: number | null
  /** Since when it has its status and reason. Null for builds of earlier versions until their next change. */
  waits_since: number | null
  /** 1 after its end was reported. Null until then, and for builds that ended at a server of an earlier version. */
  end_reported: 1 | null
}

export interface BuildPlanRow {
  build_id: string
  account_id: string
  document: string
  /** JSON: BuildInput without its secrets, for a restart. */
  request: string
  /** JSON; null if the document has errors. */
  plan: string | null
  /** JSON: problems of the document. */
  problems: string | null
  /** Sealed JSON: secret name -> value. */
  secrets: string | null
  /** JSON: the step types that the document uses (name, version, text); null if there are none. */
  step_types: string | null
  /** The pipeline document fetched for this build from a repository or URL; encrypted values masked. */
  fetched: string | null
  /** The delivery whose event started it; null if none did. */
  delivery_id: string | null
  /** JSON: CommitTarget, where the state of the build is reported; null for nowhere. */
  commit_target: string | null
}

export interface AttemptRow {
  build_id: string
  number: number
  account_id: string
  /** The agent that runs it. */
  agent_id: string
  runtime: string
  /** Version of the agent protocol with which its objects were created. */
  protocol: 1 | 2
  status: AttemptStatus
  result: 'success' | 'error' | 'terminated' | 'pending-approval' | 'lost' | null
  reason: Reason | null
  message: string | null
  /** JSON: RuntimeSpec.limits at the time when the attempt was created. */
  limits: string
  /** Why the build resumes in this attempt; null for the first attempt of a build that starts from scratch. */
  cause: ResumeCause | null
  bootstrap_id: string
  bootstrap_hash: string
  /** Id of the master key from which its credentials are derived. */
  key_id: string
  claim_key: string | null
  token_id: string
  token_hash: string | null
  /** All events of the engine up to this number are stored. */
  ack_seq: number
  /** Time of the last call of the engine. */
  seen_at: number | null
  /** Time of the last stored output; distinguishes a silent engine from a busy one when it is asked to stop. */
  output_at: number | null
  /** Time of the last activity: a step that starts or ends, or a container that uses the processor or the disk. */
  active_at: number | null
  /** JSON: step -> resource usage of its containers so far, as one number that grows with activity. */
  use: string | null
  /** When its first step started, and when its last one ended if none is running. */
  steps_began_at: number | null
  steps_ended_at: number | null
  /** What its pods wait for and since when, with the Kubernetes message. */
  waiting_reason: Reason | null
  waiting_message: string | null
  waiting_since: number | null
  /** When it last waited for its turn on the nodes (`start-limit`); null if it did not. */
  turn_at: number | null
  /** When its engine was first seen running (with protocol v1: was created), so that it may call. */
  engine_since: number | null
  /** Address of its Docker daemon, once its agent has reported it. */
  docker_host: string | null
  /** The warm pair whose objects it uses; null if it has its own objects. */
  pair_id: string | null
  /**
   * JSON: the loss that was seen first (`StoredLoss`): reason, message, whether it is permanent, and what followed. Set before the attempt is marked
   * lost if the engine could still report; the mark follows when the engine has finished.
   */
  loss: string | null
  loss_at: number | null
  /** JSON: stream -> bytes in the spool of the engine at its last heartbeat, for streams that the server did not have completely. */
  spooled: string | null
  /** JSON: the missing log of a lost attempt, as in its events; null if nothing is missing. */
  missing: string | null
  /** 1 if none of its objects can exist in the cluster anymore. */
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
  /** The last attempt that requested it. */
  attempt: number
  /** Since when it waits, across all attempts, and when it expires. */
  waiting_since: number
  expires_at: number
  final_state: ApprovalAction['finalState']
  /** Null until decided; written once. */
  decision: 'approved' | 'denied' | 'terminated' | null
  comment: string | null
  decided_by: string | null
  decider_type: string | null
  decided_at: number | null
  /** 1 if an engine knows the decision. */
  seen: Flag
  /** 1 with the decision about a whole build, which is refused without it; otherwise null. */
  start_decided: Flag | null
}

/** An image that a step built or pushed; one row per name. */
export interface ImageRow {
  id: string
  account_id: string
  build_id: string
  pipeline_id: string | null
  step: string
  /** Id of the image in the Docker daemon of the build or in a registry. */
  image_id: string
  name: string
  /** JSON: list of strings. */
  tags: string
  digest: string | null
  /** Hash of its inputs; null if it cannot be determined. */
  content_hash: string | null
  pushed: Flag
  /** Null if nothing was built. */
  cache_hits: number | null
  cache_misses: number | null
  size_bytes: number | null
  created_at: number
}

/** One annotation, or one entry of the metadata of an image. */
export interface AnnotationRow {
  account_id: string
  entity: AnnotatedEntity
  /** Id of the build, pipeline or project; id or name of the image. */
  entity_id: string
  kind: 'annotation' | 'metadata'
  name: string
  /** JSON: string, number or boolean. */
  value: string
  /** 1 if it is shown in lists. */
  display: Flag
  updated_at: number
}

/** Data that a client stored with a build. */
export interface BuildDataRow {
  id: string
  account_id: string
  build_id: string
  created_at: number
  /** Sealed JSON. */
  data: string
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

export interface CommandRow {
  build_id: string
  id: number
  attempt: number
  type: Command['type']
  /** JSON: the other fields of the command. */
  data: string
  at: number
}

/** The response to a call with an Idempotency-Key. */
export interface ReplyRow {
  account_id: string
  actor_id: string
  key: string
  /** Hash of method, path and body. */
  request_hash: string
  /** 0 while the call is in progress. */
  status: number
  /** Sealed, because it may hold a token. */
  body: string | null
  created_at: number
}

/** A terminal of a user in a step that the debugger holds. */
export interface TerminalRow {
  id: string
  account_id: string
  build_id: string
  attempt: number
  step: string
  phase: DebugPhase
  opened_by: string
  /** Why it ended, unless it ended by itself. */
  message: string | null
  exit_code: number | null
  /** Numbers of the last stored parts in both directions. */
  in_seq: number
  out_seq: number
  /** Number of the last output that a reader has shown. */
  ack_seq: number
  /** Size of the stored output. */
  out_bytes: number
  /** Time of the last call of its reader. */
  seen_at: number
  created_at: number
  ended_at: number | null
}

/** Data between a user and an engine. Input is deleted when the engine has it; the latest output is kept for more readers. */
export interface TerminalPartRow {
  terminal_id: string
  build_id: string
  direction: 'in' | 'out'
  seq: number
  /** JSON (TerminalPart) for input, base64 for output. */
  data: string
  bytes: number
}
