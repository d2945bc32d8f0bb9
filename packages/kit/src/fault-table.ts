/** The table of faults. A code is never reused for another meaning. The reference pages and the tests read this table. */

export interface FaultSpec {
  /** HTTP status of the response. */
  readonly status: number
  readonly text: string
  /** What the user can do about it, in the imperative. */
  readonly hint: string
  /** Hint of a fault with `problems`. Default: `hint`. */
  readonly problemsHint?: string
  /** True if the same call may succeed later without a change. */
  readonly retry?: true
  /** Work that this response ends permanently, see `endsWork`. Work that is not listed continues. */
  readonly ends?: readonly Work[]
}

/** Work that a response of the server can end: a running attempt, the claim of an engine, an agent. */
export type Work = 'attempt' | 'claim' | 'agent'

export const faults = {
  // identity
  unauthenticated: {
    status: 401,
    text: 'The request has no valid credential.',
    hint: 'Run `windlass auth login` or send `Authorization: Bearer <key>`.',
    ends: ['attempt', 'claim', 'agent'],
  },
  forbidden: {
    status: 403,
    text: 'The credential does not allow this call.',
    hint: 'Use an API key with the required role.',
    ends: ['agent'],
  },
  'scope-missing': {
    status: 403,
    text: 'The API key does not have the required scope.',
    hint: 'Use an API key that has the scope, or one that is not limited to scopes.',
  },
  'step-key-limited': {
    status: 403,
    text: 'The API key of a step does not allow this call.',
    hint: 'Start a stored pipeline with only a branch, a revision and variables, or use your own API key.',
  },
  'runtime-denied': {
    status: 403,
    text: 'Only some teams may use this runtime environment.',
    hint: 'Ask an admin to add you to one of these teams, or use another runtime environment.',
  },
  'pipeline-out-of-reach': {
    status: 403,
    text: 'The steps of this build are not allowed to start that pipeline.',
    hint: 'Put both pipelines into one project, or add this pipeline to `startedBy` of the other one.',
  },
  'bootstrap-code': {
    status: 403,
    text: 'The bootstrap code for the first admin is missing or wrong.',
    hint: 'Read the code from `bootstrap.code` in the data folder or from the server log, and run `windlass auth login --first-admin --code-file FILE`.',
  },
  'bootstrap-closed': { status: 409, text: 'The first admin already exists.', hint: 'Ask an admin for an API key.' },
  'signature-wrong': {
    status: 401,
    text: 'The signature or the token of the webhook call is wrong.',
    hint: 'Enter the secret of the webhook at the forge again. Azure DevOps sends it in the header `X-Windlass-Token`.',
  },
  'claim-used': {
    status: 409,
    text: 'The engine credential was already used.',
    hint: 'Wait for the next attempt, which gets a new credential. Each credential starts one engine.',
    ends: ['claim'],
  },

  // requests
  'request-invalid': {
    status: 400,
    text: 'The request is not valid.',
    hint: 'Correct the request as described in the message, then send it again.',
    problemsHint: 'See `problems` for the fields that are wrong.',
  },
  'not-found': { status: 404, text: 'The resource does not exist.', hint: 'Check the name or ID.' },
  conflict: {
    status: 409,
    text: 'The resource was changed in the meantime, or already exists.',
    hint: 'Read the resource again and repeat the change.',
  },
  'idempotency-mismatch': {
    status: 422,
    text: 'The Idempotency-Key was already used for a different request.',
    hint: 'Use a new key for each request.',
  },
  'payload-too-large': { status: 413, text: 'The request body is too large.', hint: 'Split the request into smaller ones.' },
  'rate-limited': {
    status: 429,
    text: 'Too many requests.',
    hint: 'Wait for the time in `Retry-After`, then retry.',
    retry: true,
  },
  'too-many-readers': {
    status: 429,
    text: 'Too many open streams (followed builds, log downloads, terminals).',
    hint: 'Close streams that are not needed, or increase `WINDLASS_SERVER_READERS` or `WINDLASS_SERVER_READERS_PER_KEY`.',
    retry: true,
  },
  'not-supported': {
    status: 501,
    text: 'Windlass does not support this call of the Codefresh API.',
    hint: 'Use the `windlass` command instead. The guide to the Codefresh command line lists what is supported.',
  },
  unavailable: { status: 503, text: 'The server is temporarily unavailable.', hint: 'Retry in a moment.', retry: true },
  'storage-full': {
    status: 507,
    text: 'The server does not have enough free disk space for new builds.',
    hint: 'Free disk space on the server. Running builds continue.',
    retry: true,
  },
  internal: { status: 500, text: 'Internal error.', hint: 'Report the request ID.' },

  // pipelines and builds
  'document-invalid': {
    status: 422,
    text: 'The document is not valid.',
    hint: 'Correct the document as the message says.',
    problemsHint: 'See `problems` for the file, line and column of each error.',
  },
  'document-too-expensive': {
    status: 422,
    text: 'Processing the document takes too much time or memory.',
    hint: 'Split it into several pipelines, or move scripts and data to files in the repository.',
  },
  'document-unreachable': {
    status: 422,
    text: 'The document of the pipeline cannot be read.',
    hint: 'Check its repository and path, and that this machine can reach it.',
  },
  'pipeline-invalid': {
    status: 422,
    text: 'The pipeline does not compile.',
    hint: 'Run `windlass validate` to see the errors.',
    problemsHint: 'See `problems` for the file, line and column of each error.',
  },
  'file-not-found': { status: 404, text: 'The file cannot be read.', hint: 'Check the path.' },
  'approval-ambiguous': {
    status: 409,
    text: 'Several steps are waiting for approval.',
    hint: 'Name the step: `windlass approve BUILD STEP`.',
  },
  'approval-decided': {
    status: 409,
    text: 'The approval was already decided.',
    hint: 'Run `windlass describe build ID` to see the decision.',
  },
  'approval-missing': {
    status: 409,
    text: 'No step of the build is waiting for approval.',
    hint: 'Run `windlass describe build ID` to see the state of the build.',
  },
  'no-new-key': {
    status: 409,
    text: 'No new master key is configured.',
    hint: 'Create a key with `openssl rand -base64 32` and append it to `WINDLASS_SERVER_MASTER_KEY` on every server.',
  },
  'keys-not-everywhere': {
    status: 409,
    text: 'Not every server has loaded the new master key yet.',
    hint: 'Wait about a minute for the mounted Secret to update, then run `windlass server rotate-keys` again.',
    retry: true,
  },
  'build-final': { status: 409, text: 'The build has ended.', hint: 'Run `windlass restart BUILD` to run it again.' },
  'not-held': {
    status: 409,
    text: 'The step is not held by the debugger.',
    hint: 'Run `windlass debug BUILD --list` to see the steps that are held.',
  },
  'restart-forbidden': {
    status: 409,
    text: 'Restarting from a failed step is disabled for this pipeline.',
    hint: 'Restart the build from the beginning, or set `permitRestartFromFailedSteps`.',
  },
  'restart-impossible': {
    status: 409,
    text: 'The build cannot be restarted from this step.',
    hint: 'Run `windlass restart BUILD` to restart it from the beginning.',
  },
  'runtime-unknown': {
    status: 422,
    text: 'The runtime environment does not exist.',
    hint: 'Run `windlass get runtimes` to list the runtime environments.',
  },
  'variable-invalid': { status: 400, text: 'A variable must have the form NAME=VALUE.', hint: 'Use `-v NAME=VALUE`.' },

  // the protocol of agents and engines
  'protocol-unsupported': {
    status: 426,
    text: 'The protocol version of the client is not supported.',
    hint: 'Upgrade the agent, engine or server: their protocol versions may differ by at most one.',
    ends: ['claim', 'agent'],
  },
  'attempt-stale': {
    status: 409,
    text: 'A newer attempt of this build is running.',
    hint: 'Stop this attempt. The server accepts nothing more from it.',
    ends: ['attempt', 'claim'],
  },
  'disk-in-use': { status: 409, text: 'A build uses the disk.', hint: 'Wait for the end of the build, or terminate it.' },
  'context-not-checkable': {
    status: 422,
    text: 'The context leads to nothing outside that could be checked.',
    hint: 'Only contexts of the types git, registry, kubernetes and secret-store can be checked.',
  },
  'context-of-other-runtime': {
    status: 422,
    text: 'The context is not for this runtime environment.',
    hint: 'Check it with the runtime environment that it names.',
  },
  'agent-checks-failed': {
    status: 504,
    text: 'The agent did not report its checks.',
    hint: 'Check the logs of the agent, or run `windlass doctor` with access to the cluster.',
  },
  'agent-not-connected': {
    status: 409,
    text: 'The agent is not connected.',
    hint: 'Check the pod of the agent, its logs, and the network between its cluster and the server.',
  },
  'agent-fenced': {
    status: 409,
    text: 'Another process registered with the identity of this agent.',
    hint: 'Run only one agent for each agent token.',
    ends: ['agent'],
  },
  'log-offset': {
    status: 409,
    text: 'The log frame does not start where the stored log ends.',
    hint: 'Send the stream again from `offset`.',
    retry: true,
  },
  'log-hash': { status: 422, text: 'The log frame does not match its SHA-256 hash.', hint: 'Send the frame again.', retry: true },
  'log-incomplete': {
    status: 409,
    text: 'Some log bytes are missing.',
    hint: 'Send the streams again from their `offsets`.',
    retry: true,
  },

  // tunnels
  'tunnel-taken': {
    status: 409,
    text: 'Another client of this GitOps runtime is connected.',
    hint: 'Run one tunnel client for each runtime. This one waits for the other one to end.',
    retry: true,
  },
  'tunnel-offline': {
    status: 503,
    text: 'The GitOps runtime is not connected.',
    hint: 'Check the tunnel client in the cluster of the runtime, and its log.',
    retry: true,
  },
  'tunnel-full': {
    status: 503,
    text: 'The GitOps runtime has too many calls in progress.',
    hint: 'Wait for the time in `Retry-After`, then retry.',
    retry: true,
  },
  'tunnel-broken': {
    status: 502,
    text: 'The connection to the GitOps runtime ended during the call.',
    hint: 'Check whether the call had an effect, then repeat it.',
    retry: true,
  },
  'tunnel-router': {
    status: 502,
    text: 'The tunnel client cannot reach the router of the GitOps runtime.',
    hint: 'Check the pods of the router in the cluster, and the router URL of the tunnel client.',
    retry: true,
  },
  'tunnel-path': {
    status: 404,
    text: 'The tunnel client does not forward this path.',
    hint: 'Use a path below /app-proxy, /workflows or /webhooks.',
  },

  // routers of GitOps runtimes
  'router-service': {
    status: 502,
    text: 'A service of the GitOps runtime cannot be reached.',
    hint: 'Check its pods in the cluster of the runtime. It may be starting.',
    retry: true,
  },
  'router-broken': {
    status: 502,
    text: 'A service of the GitOps runtime ended the call without a complete answer.',
    hint: 'Check whether the call had an effect, then repeat it.',
    retry: true,
  },
  'router-silent': {
    status: 504,
    text: 'A service of the GitOps runtime did not answer in time.',
    hint: 'Check the log of the service, and whether the call had an effect.',
    retry: true,
  },
  'router-full': {
    status: 503,
    text: 'The router of the GitOps runtime has too many calls in progress.',
    hint: 'Wait for the time in `Retry-After`, then retry.',
    retry: true,
  },

  // app-proxy of GitOps runtimes
  'runtime-token-invalid': {
    status: 403,
    text: 'The token of the GitOps runtime is not valid.',
    hint: 'Create a token with `windlass gitops token create RUNTIME`, and replace the Secret of the runtime.',
  },
  'control-plane-unreachable': {
    status: 503,
    text: 'The GitOps runtime cannot reach its control plane.',
    hint: 'Retry. If the error persists, check the network from the runtime to the server.',
    retry: true,
  },
  'control-plane-refused': {
    status: 503,
    text: 'The control plane does not accept this GitOps runtime.',
    hint: 'Create a token with `windlass gitops token create RUNTIME`, and replace the Secret of the runtime.',
  },
  'outcome-unknown': {
    status: 500,
    text: 'The end of the call is not known.',
    hint: 'Check whether it had an effect.',
  },
  'https-required': { status: 403, text: 'The app-proxy accepts calls by HTTPS only.', hint: 'Use its https URL.' },
  'argo-cd-unreachable': {
    status: 503,
    text: 'Argo CD does not answer.',
    hint: 'Check that Argo CD runs in the namespace of the GitOps runtime.',
    retry: true,
  },
  'argo-cd-refused': { status: 502, text: 'Argo CD rejected the request.', hint: 'See the message of Argo CD.' },
  'archive-unreachable': { status: 503, text: 'The archive of logs does not answer.', hint: 'Retry later.', retry: true },
  'archive-refused': { status: 502, text: 'The archive of logs rejected the call.', hint: 'Check its bucket and its keys.' },
  'git-token-missing': {
    status: 422,
    text: 'You have not registered a Git token for this integration.',
    hint: 'Register your Git token at the integration.',
  },
  'git-token-refused': {
    status: 422,
    text: 'The forge does not accept the Git token.',
    hint: 'Create a token at the forge with the scopes that the documentation names, and register it.',
  },
  'git-conflict': {
    status: 409,
    text: 'Another commit has changed the same files.',
    hint: 'Load the files again, repeat your change, and commit it.',
  },
  'git-refused': {
    status: 422,
    text: 'The Git server does not accept the commit.',
    hint: 'See the message of the Git server. A rule of the branch may require a pull request.',
  },
  'file-too-large': { status: 413, text: 'The file is too large.', hint: 'Use git for large files.' },

  // engine
  'docker-unreachable': {
    status: 503,
    text: 'The Docker daemon does not answer.',
    hint: 'Start Docker, or set `DOCKER_HOST`.',
    retry: true,
  },
  'docker-refused': {
    status: 502,
    text: 'The Docker daemon rejected the request.',
    hint: 'See the error message of the daemon.',
  },
  'spool-full': {
    status: 507,
    text: 'The log spool is full.',
    hint: 'Free disk space on the volume that holds the spool of the engine.',
    retry: true,
  },

  // agent and cluster
  'policy-refused': {
    status: 403,
    text: 'The policy of the agent does not allow this object.',
    hint: 'Change the runtime environment or the policy of the agent.',
  },
  'cluster-unreachable': {
    status: 503,
    text: 'The Kubernetes API does not answer.',
    hint: 'Check the kubeconfig and the network.',
    retry: true,
  },
  'cluster-unfit': {
    status: 422,
    text: 'The cluster does not meet the requirements of the Runner.',
    hint: 'Use `--skip-cluster-test` to skip the tests.',
    problemsHint: 'See `problems` for each failed test. Use `--skip-cluster-test` to skip the tests.',
  },
  'install-failed': {
    status: 502,
    text: 'The Helm installation failed.',
    hint: 'See the Helm output, then run the command again. It continues where it stopped.',
  },
  'cluster-refused': {
    status: 502,
    text: 'The Kubernetes API rejected the request.',
    hint: 'See the error message of Kubernetes.',
  },

  // disks
  'storage-class-invalid': {
    status: 422,
    text: 'The storage class cannot be used for build disks.',
    hint: 'Correct the parameters of the storage class.',
    problemsHint: 'See `problems` for the parameters that are wrong.',
  },
  'storage-refused': {
    status: 502,
    text: 'The storage backend rejected the request.',
    hint: 'See the error message of the backend.',
  },
  'storage-unreachable': {
    status: 503,
    text: 'The storage backend does not answer.',
    hint: 'Check the network and the credentials for the cloud.',
    retry: true,
  },

  // forges
  'forge-unreachable': {
    status: 503,
    text: 'The forge does not answer.',
    hint: 'Check the URL of the forge and the network. For a private certificate authority set `NODE_EXTRA_CA_CERTS`.',
    retry: true,
  },
  'forge-refused': {
    status: 502,
    text: 'The forge rejected the request.',
    hint: 'See the message of the forge.',
  },

  // registries and issue trackers
  'service-unreachable': { status: 503, text: 'A service does not answer.', hint: 'Check its URL and the network.', retry: true },
  'service-refused': { status: 502, text: 'A service rejected the request.', hint: 'See the message of the service.' },

  // command line and set-up
  usage: { status: 400, text: 'The command line is not valid.', hint: 'Run the command with `--help`.' },
  'config-invalid': {
    status: 400,
    text: 'The configuration is not valid.',
    hint: 'Correct the setting that the message names, then start the process again.',
    problemsHint: 'See `problems` for the settings that are wrong.',
  },
  'server-unreachable': {
    status: 503,
    text: 'The server cannot be reached.',
    hint: 'Check the URL with `windlass auth current`, or start a local server with `windlass up`.',
    retry: true,
  },
  'proxy-answered': {
    status: 502,
    text: 'A proxy or another server answered instead of the Windlass server.',
    hint: 'Check that the URL, and every proxy on the way, leads to the Windlass server.',
    retry: true,
  },
  'wait-timeout': {
    status: 408,
    text: 'The wait timed out.',
    hint: 'Wait again, or use a longer timeout.',
    retry: true,
  },
  'store-locked': {
    status: 503,
    text: 'The data folder is in use by another server.',
    hint: 'Stop the other server, or use PostgreSQL to run several servers.',
  },
  'store-not-empty': {
    status: 409,
    text: 'The database already contains data of a server.',
    hint: 'Use an empty database, and do not start a server on it before.',
  },
  'archive-invalid': {
    status: 422,
    text: 'The archive is incomplete or was changed.',
    hint: 'Use another copy of the archive.',
  },
  'passphrase-wrong': {
    status: 403,
    text: 'The passphrase does not decrypt the master keys of the archive.',
    hint: 'Use the passphrase with which the archive was written.',
  },
} as const satisfies Record<string, FaultSpec>
