/** Builds, their debugger, their images, and annotations. */
import {
  Annotations,
  AnnotationsInput,
  ApprovalInput,
  ApprovalItem,
  ApprovalQuery,
  Build,
  BuildActionInput,
  BuildActionResults,
  BuildComparison,
  BuildComparisonQuery,
  BuildCounts,
  BuildCountsQuery,
  BuildInput,
  BuildPlan,
  BuildQuery,
  BuildUsage,
  BuildUsageQuery,
  DEBUG_ACTIONS,
  DebugChange,
  DebugState,
  FeedPage,
  FeedQuery,
  FollowQuery,
  Image,
  ImageQuery,
  LogLines,
  LogLinesQuery,
  LogMarks,
  LogMarksQuery,
  LogNew,
  LogNewQuery,
  LogQuery,
  LogSearch,
  LogSearchQuery,
  LogStreamQuery,
  LogStreams,
  page,
  PlanAnswer,
  PlanInput,
  Queue,
  RelatedBuilds,
  RestartInput,
  SearchQuery,
  SearchResults,
  TerminalInput,
  TerminalInputAck,
  TerminalInputBatch,
  TerminalQuery,
  TerminalRecord,
  WaitQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import { route } from '../route.ts'

export const builds = {
  /** Lists builds, newest first. */
  list: route('GET', '/v1/builds', { query: BuildQuery, answer: page(Build) }),
  /** Counts builds by one of their values. */
  counts: route('GET', '/v1/builds/counts', { query: BuildCountsQuery, answer: BuildCounts }),
  /** Returns why builds wait, by cause. */
  queue: route('GET', '/v1/queue', { answer: Queue }),
  /** Does the same with up to 200 builds. Builds that refuse it have a problem in the answer. */
  act: route('POST', '/v1/builds/actions', { body: BuildActionInput, answer: BuildActionResults, isKeyed: true }),
  create: route('POST', '/v1/builds', { body: BuildInput, answer: Build, isKeyed: true }),
  get: route('GET', '/v1/builds/{id}', { answer: Build }),
  /** Returns the plan of a build and its documents, without secret values. */
  plan: route('GET', '/v1/builds/{id}/plan', { answer: BuildPlan }),
  /** Returns the parent, children and repetitions of a build, and its neighbors on the branch. */
  related: route('GET', '/v1/builds/{id}/related', { answer: RelatedBuilds }),
  /** Returns memory and processors of the steps over time, and their phases. */
  usage: route('GET', '/v1/builds/{id}/usage', { query: BuildUsageQuery, answer: BuildUsage }),
  /** Compares a build with another one, by default the last successful one of its branch. Throws `not-found`. */
  compare: route('GET', '/v1/builds/{id}/compare', { query: BuildComparisonQuery, answer: BuildComparison }),
  /** Returns what a build would do and why it would wait. Stores nothing. */
  preview: route('POST', '/v1/plan', { body: PlanInput, answer: PlanAnswer }),
  /** Lists the approvals of all builds. */
  approvals: route('GET', '/v1/approvals', { query: ApprovalQuery, answer: page(ApprovalItem) }),
  /** Searches builds by number or commit, and other resources by name. */
  search: route('GET', '/v1/search', { query: SearchQuery, answer: SearchResults }),
  /** Waits for the end of a build, or for `timeoutMs`. */
  wait: route('GET', '/v1/builds/{id}/wait', { query: WaitQuery, answer: Build }),
  restart: route('POST', '/v1/builds/{id}/restart', { body: RestartInput, answer: Build, isKeyed: true }),
  /** Requests termination. Throws `build-final` if the build has ended. */
  terminate: route('POST', '/v1/builds/{id}/terminate', { answer: Build, isKeyed: true }),
  /** Approves a pending approval. Throws `approval-missing`, `approval-ambiguous`, `approval-decided`, `build-final`. */
  approve: route('POST', '/v1/builds/{id}/approve', { body: ApprovalInput, answer: Build }),
  /** Denies a pending approval. Throws like `approve`. */
  deny: route('POST', '/v1/builds/{id}/deny', { body: ApprovalInput, answer: Build }),
  /** Confirms that nothing of a lost attempt is left. Throws `conflict` while it may still run. */
  confirmGone: route('POST', '/v1/builds/{id}/attempts/{attempt}/confirm-gone', { answer: Build }),
  /** Returns stored events and log after a position. */
  feed: route('GET', '/v1/builds/{id}/feed', { query: FeedQuery, answer: FeedPage }),
  /** Follows events and log: events with a `FeedItem` as data, and `end`. The caller resumes from the last position. */
  follow: route('GET', '/v1/builds/{id}/follow', { query: FollowQuery, answer: 'events' }),
  /** Returns a part of the log as text. */
  log: route('GET', '/v1/builds/{id}/log', { query: LogQuery, answer: 'text' }),
  /** Returns a part of the log as a stream, for logs of any size. */
  logBytes: route('GET', '/v1/builds/{id}/log', { query: LogQuery, answer: 'bytes' }),
  /** Lists the streams of the log. */
  logStreams: route('GET', '/v1/builds/{id}/streams', { query: LogStreamQuery, answer: LogStreams }),
  /** Returns lines of a stream by number. Throws `not-found` if the stream has no output or the log has expired. */
  logLines: route('GET', '/v1/builds/{id}/log/lines', { query: LogLinesQuery, answer: LogLines }),
  /** Lists the folds and problems of a stream. The caller repeats it until it is `complete`. Throws like `logLines`. */
  logMarks: route('GET', '/v1/builds/{id}/log/marks', { query: LogMarksQuery, answer: LogMarks }),
  /** Lists the lines that the same stream of another build lacks. Throws like `logLines`, also if there is no build to compare with. */
  newLogLines: route('GET', '/v1/builds/{id}/log/new', { query: LogNewQuery, answer: LogNew }),
  /** Searches the visible text of the log. The caller repeats it with `next`. Throws `request-invalid` for a pattern that cannot be used. */
  searchLog: route('GET', '/v1/builds/{id}/log/search', { query: LogSearchQuery, answer: LogSearch }),
}

export const debug = {
  /** Returns the breakpoints of a build and the steps that are held. */
  get: route('GET', '/v1/builds/{id}/debug', { answer: DebugState }),
  change: route('POST', '/v1/builds/{id}/debug', { body: DebugChange, answer: DebugState, isKeyed: true }),
  /** Continues, retries or fails a held step, or extends its time limit. Throws `not-held`. */
  act: route('POST', '/v1/builds/{id}/debug/{step}/{action}', {
    params: z.object({ action: z.enum(DEBUG_ACTIONS) }),
    answer: DebugState,
    isKeyed: true,
  }),
  /** Opens a terminal in a held step. Throws `not-held`. */
  openTerminal: route('POST', '/v1/builds/{id}/terminals', { body: TerminalInput, answer: TerminalRecord, isKeyed: true }),
  /** Follows the output of a terminal: `output` with base64 data and a number as id, and `end` with a `TerminalEnd`. */
  followTerminal: route('GET', '/v1/builds/{id}/terminals/{terminal}/output', { query: TerminalQuery, answer: 'events' }),
  sendInput: route('POST', '/v1/builds/{id}/terminals/{terminal}/input', { body: TerminalInputBatch, answer: TerminalInputAck }),
}

export const images = {
  /** Lists images of builds, newest first. */
  list: route('GET', '/v1/images', { query: ImageQuery, answer: page(Image) }),
  /** Returns an image by id, digest or `name:tag`. */
  get: route('GET', '/v1/images/{id}', { answer: Image }),
}

/** Annotations of builds, pipelines, projects and images, by the name of the entity and the name or id of the resource. */
export const annotations = {
  get: route('GET', '/v1/annotations/{entity}/{id}', { answer: Annotations }),
  /** Sets annotations. Other annotations do not change. */
  put: route('PUT', '/v1/annotations/{entity}/{id}', { body: AnnotationsInput, answer: Annotations }),
  delete: route('DELETE', '/v1/annotations/{entity}/{id}/{name}', { answer: 'nothing' }),
}
