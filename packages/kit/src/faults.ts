/**
 * The one table of faults: everything expected that can go wrong and that a caller can act on. Browser-safe.
 * A code is never reused for another meaning. Docs and tests read this table.
 */
export interface FaultSpec {
  /** HTTP status that the server answers with. */
  readonly status: number
  readonly text: string
  /** What the reader can do about it. */
  readonly hint: string
  /** True when the same call may succeed later without a change. */
  readonly retry?: true
}

export const faults = {
  // identity
  unauthenticated: {
    status: 401,
    text: 'No valid credential was sent.',
    hint: 'Run `windlass auth login` or send `Authorization: Bearer <key>`.',
  },
  forbidden: { status: 403, text: 'This credential may not do that.', hint: 'Use a key with the needed role.' },
  'scope-missing': {
    status: 403,
    text: 'This key is limited to other scopes.',
    hint: 'Use a key that has the scope, or one without scopes.',
  },
  'bootstrap-closed': { status: 409, text: 'The first admin exists already.', hint: 'Ask an admin for an API key.' },
  'claim-used': {
    status: 409,
    text: 'This engine credential was already exchanged.',
    hint: 'Each credential starts one engine; the next attempt gets a new one.',
  },

  // requests
  'request-invalid': {
    status: 400,
    text: 'The request does not have the documented shape.',
    hint: 'See `problems` for each field.',
  },
  'not-found': { status: 404, text: 'There is no such thing.', hint: 'Check the name or id.' },
  conflict: {
    status: 409,
    text: 'The thing was changed by someone else, or exists already.',
    hint: 'Read it again and repeat the change.',
  },
  'idempotency-mismatch': {
    status: 422,
    text: 'This Idempotency-Key was used for another request.',
    hint: 'Use a fresh key for a new request.',
  },
  'payload-too-large': { status: 413, text: 'The body is larger than this call accepts.', hint: 'Send less at once.' },
  'rate-limited': { status: 429, text: 'Too many calls.', hint: 'Wait as Retry-After says.', retry: true },
  unavailable: { status: 503, text: 'The server cannot answer now.', hint: 'Try again in a moment.', retry: true },
  'storage-full': {
    status: 507,
    text: 'The server has too little disk left for new builds.',
    hint: 'Free disk space; running builds go on.',
    retry: true,
  },
  internal: { status: 500, text: 'A bug on our side.', hint: 'Report the request id.' },

  // pipelines and builds
  'document-invalid': { status: 422, text: 'The document is not valid.', hint: 'See `problems` for file, line and column.' },
  'document-unreachable': {
    status: 422,
    text: 'The document that the pipeline refers to cannot be read.',
    hint: 'Check its place, and that it can be reached from here.',
  },
  'pipeline-invalid': { status: 422, text: 'The pipeline does not compile.', hint: 'See `problems` for file, line and column.' },
  'file-not-found': { status: 404, text: 'The file cannot be read.', hint: 'Check the path.' },
  'approval-ambiguous': {
    status: 409,
    text: 'Several steps wait for approval.',
    hint: 'Name the step: `windlass approve BUILD STEP`.',
  },
  'approval-decided': {
    status: 409,
    text: 'The approval was decided already.',
    hint: 'See who decided with `windlass describe build ID`.',
  },
  'approval-missing': {
    status: 409,
    text: 'No step of the build waits for approval.',
    hint: 'See what the build does with `windlass describe build ID`.',
  },
  'build-final': { status: 409, text: 'The build has ended.', hint: 'Use `windlass restart` to run it again.' },
  'not-held': {
    status: 409,
    text: 'The debugger does not hold the step.',
    hint: 'See what is held with `windlass debug BUILD --list`.',
  },
  'restart-forbidden': {
    status: 409,
    text: 'Restarts from a failed step are switched off.',
    hint: 'Restart from the beginning, or set `permitRestartFromFailedSteps`.',
  },
  'restart-impossible': {
    status: 409,
    text: 'There is no such step to restart the build from.',
    hint: 'Restart it from the beginning: `windlass restart BUILD`.',
  },
  'runtime-unknown': {
    status: 422,
    text: 'There is no such runtime environment.',
    hint: 'List them with `windlass get runtimes`.',
  },
  'variable-invalid': { status: 400, text: 'A variable is not of the form NAME=VALUE.', hint: 'Write -v NAME=VALUE.' },

  // the protocol of agents and engines
  'protocol-unsupported': {
    status: 426,
    text: 'The other side speaks a protocol version that is too old or too new.',
    hint: 'Upgrade it to within one version of the server.',
  },
  'attempt-stale': {
    status: 409,
    text: 'Another attempt of this build has taken over.',
    hint: 'Stop: nothing more from this attempt is accepted.',
  },
  'agent-fenced': {
    status: 409,
    text: 'Another process took over this agent identity.',
    hint: 'Run one agent for each agent key.',
  },
  'log-offset': {
    status: 409,
    text: 'The log frame does not start where the stored log ends.',
    hint: 'Send again from `offset`.',
    retry: true,
  },
  'log-hash': { status: 422, text: 'The bytes do not match their hash.', hint: 'Send the frame again.', retry: true },
  'log-incomplete': {
    status: 409,
    text: 'Log bytes are still missing.',
    hint: 'Send the streams again from their `offsets`.',
    retry: true,
  },

  // engine
  'docker-unreachable': {
    status: 503,
    text: 'The Docker daemon does not answer.',
    hint: 'Start it, or set DOCKER_HOST.',
    retry: true,
  },
  'docker-refused': { status: 502, text: 'The Docker daemon refused the call.', hint: 'See its message.' },
  'spool-full': {
    status: 507,
    text: 'The log spool is full.',
    hint: 'Free disk space where the engine keeps its spool.',
    retry: true,
  },

  // agent and cluster
  'policy-refused': {
    status: 403,
    text: 'The agent policy does not allow this object.',
    hint: 'Change the runtime or the policy of the agent.',
  },
  'cluster-unreachable': {
    status: 503,
    text: 'The Kubernetes API does not answer.',
    hint: 'Check the kubeconfig and the network.',
    retry: true,
  },
  'cluster-unfit': {
    status: 422,
    text: 'The cluster cannot take a Runner as it is.',
    hint: 'See `problems`; --skip-cluster-test leaves the tests out.',
  },
  'install-failed': {
    status: 502,
    text: 'Helm could not install.',
    hint: 'See its own words; `windlass runner init` goes on where it stopped.',
  },
  'cluster-refused': { status: 502, text: 'The Kubernetes API refused the call.', hint: 'See its message.' },

  // disks
  'storage-class-invalid': {
    status: 422,
    text: 'The storage class cannot be used for disks of builds.',
    hint: 'See `problems` for each parameter.',
  },
  'storage-refused': { status: 502, text: 'The storage backend refused the call.', hint: 'See its message.' },
  'storage-unreachable': {
    status: 503,
    text: 'The storage backend does not answer.',
    hint: 'Check the network and the credentials of the provisioner.',
    retry: true,
  },

  // command line and set-up
  usage: { status: 400, text: 'The command line is wrong.', hint: 'See --help.' },
  'config-invalid': { status: 400, text: 'The configuration is wrong.', hint: 'See `problems` for each key.' },
  'server-unreachable': {
    status: 503,
    text: 'The server cannot be reached.',
    hint: 'Check `windlass auth current`, or start one with `windlass up`.',
    retry: true,
  },
  'wait-timeout': {
    status: 408,
    text: 'What was waited for did not come in time.',
    hint: 'Wait again, or give it more time.',
    retry: true,
  },
  'store-locked': {
    status: 503,
    text: 'Another server has this data folder open.',
    hint: 'Stop it, or use PostgreSQL for several servers.',
  },
} as const satisfies Record<string, FaultSpec>

export type FaultCode = keyof typeof faults

/** Where in a document or request something is wrong. `path` is a field path such as `steps.build.image`. */
export interface Problem {
  readonly message: string
  readonly path?: string | undefined
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
  readonly code?: string | undefined
  readonly severity?: 'error' | 'warning' | undefined
  readonly hint?: string | undefined
}

export interface FaultDetails {
  /** Says what exactly, in one sentence; replaces the text of the table. */
  readonly message?: string
  readonly hint?: string
  readonly problems?: readonly Problem[]
  /** Further machine-readable fields, such as `offset`. Never a secret. */
  readonly [field: string]: unknown
}

/** Something expected that went wrong. Thrown, never returned; made by `fault()`. */
export class Fault extends Error {
  readonly code: FaultCode
  readonly status: number
  readonly hint: string
  readonly retryable: boolean
  readonly details: FaultDetails

  constructor(code: FaultCode, details: FaultDetails, cause?: unknown) {
    const spec: FaultSpec = faults[code]
    super(details.message ?? spec.text, cause === undefined ? undefined : { cause })
    this.name = 'Fault'
    this.code = code
    this.status = spec.status
    this.hint = details.hint ?? spec.hint
    this.retryable = spec.retry === true
    this.details = details
  }
}

/** Makes a fault of the table: `throw fault('not-found', { message: 'There is no build 42.' })`. */
export function fault(code: FaultCode, details: FaultDetails = {}, cause?: unknown): Fault {
  return new Fault(code, details, cause)
}

/** True for a fault, or for a fault of one of `codes` when some are given. */
export function isFault(error: unknown, ...codes: FaultCode[]): error is Fault {
  return error instanceof Fault && (codes.length === 0 || codes.includes(error.code))
}

/** True when `code` is in the table; for codes that arrive over the wire. */
export function isFaultCode(code: string): code is FaultCode {
  return Object.hasOwn(faults, code)
}
