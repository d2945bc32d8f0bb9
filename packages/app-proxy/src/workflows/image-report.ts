/**
 * Reports of images for CI jobs that use the public image `codefresh-report-image`: a workflow of the template of the chart is submitted, and the job is told how it goes, with signs of life
 * (docs/development/adr/0157-image-reports.md).
 */
import { fault, isFault, type Clock } from '@windlass/kit'
import type { ContainerLog, RuntimeWorkflow, WorkflowParameter } from '@windlass/protocol'
import type { Workflows } from './workflows.ts'

/** How often a workflow is looked at, unless the heartbeat is faster, and how long the cluster has for its answer. Milliseconds. */
const LOOK_MS = 5_000
/** A workflow that waits for its semaphore has no end of its own. Milliseconds. */
const MAX_MS = 1_800_000
/** What a header can have, decoded. */
const MAX_CHARS = 32_768
const MAX_VALUE = 2_000
const LOG_LINES = 500

/** Parameters of the template by the names of the public job. */
const PARAMETERS: Readonly<Record<string, string>> = {
  IMAGE: 'image',
  WORKFLOW_NAME: 'workflow-name',
  WORKFLOW_URL: 'workflow-url',
  CONTAINER_REGISTRY_INTEGRATION: 'registry-integration',
  JIRA_INTEGRATION: 'jira-integration',
  GIT_REPO: 'git-repo',
  GIT_BRANCH: 'git-branch',
  GIT_REVISION: 'git-commit',
  JIRA_MESSAGE: 'jira-message',
  JIRA_PROJECT_PREFIX: 'jira-project-prefix',
}
/** Parameters without which a reader has nothing to read, by the word of `ENRICHERS`. */
const READERS = { git: 'git-repo', jira: 'jira-message' } as const
/** Names of integrations become parts of names of Secrets. */
const INTEGRATION = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/
/** Names that carry logins. A workflow would keep them in its parameters for everyone who may read it. */
const LOGIN = /(?:TOKEN|PASSWORD|SECRET|_KEY|CREDENTIALS|GOOGLE_JSON|EMAIL|USERNAME)$/

export interface ImageJob {
  readonly parameters: WorkflowParameter[]
  /** Names of logins that were sent and are not used. */
  readonly unused: readonly string[]
}

/** Reads the variables of a job, with or without their prefix `CF_`. Throws `request-invalid`. */
export function readImageJob(pairs: readonly (readonly [name: string, value: string])[]): ImageJob {
  const given = new Map<string, string>()
  const unused: string[] = []
  let enrichers: string | undefined
  for (const [name, value] of pairs) {
    const plain = name.replace(/^CF_/, '')
    const parameter = Object.hasOwn(PARAMETERS, plain) ? PARAMETERS[plain] : undefined
    if (parameter !== undefined && value !== '') given.set(parameter, value)
    else if (LOGIN.test(plain) && value !== '') unused.push(name)
    if (plain === 'ENRICHERS') enrichers = value
  }
  for (const parameter of enrichers === undefined ? [] : leftOut(enrichers)) given.set(parameter, '')
  const image = given.get('image')
  if (image === undefined) throw invalid('CF_IMAGE is missing: the image with its registry and tag.')
  for (const [name, value] of given) {
    if (value.length > MAX_VALUE || /\p{Cc}/u.test(value)) throw invalid(`${name} is too long, or has control characters.`)
    if (name.endsWith('-integration') && !INTEGRATION.test(value)) throw invalid(`"${value}" is not the name of an integration.`)
  }
  return { parameters: [...given].map(([name, value]) => ({ name, value })), unused }
}

function leftOut(enrichers: string): string[] {
  const wanted = enrichers.split(/[\s,]+/)
  return Object.entries(READERS).flatMap(([reader, parameter]) => (wanted.includes(reader) ? [] : [parameter]))
}

/** Returns the variables of the header `CF_DATA`: `NAME=VALUE` pairs with `&` between them, in base64. Throws `request-invalid`. */
export function readDataHeader(text: string): [string, string][] {
  const decoded = Buffer.from(text, 'base64').toString('utf8')
  if (text.length > MAX_CHARS || decoded.includes('\uFFFD')) throw invalid('The header CF_DATA cannot be read.')
  return decoded.split('&').map((pair) => {
    const equals = pair.indexOf('=')
    return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
  })
}

function invalid(message: string): Error {
  return fault('request-invalid', { message, hint: 'See the variables of codefresh-report-image in the guide to GitOps.' })
}

export interface Following {
  readonly workflows: Workflows
  readonly clock: Clock
  readonly heartbeatMs: number
  /** Aborted when the job has left or the app-proxy stops. The workflow goes on. */
  readonly signal: AbortSignal
}

/** Returns the events that tell a job how its workflow goes, in the form of SSE. Ends with `end` or `error`. */
export async function* followImageReport(
  { name }: RuntimeWorkflow,
  { unused }: Pick<ImageJob, 'unused'>,
  following: Following,
): AsyncGenerator<string> {
  const { workflows, clock, heartbeatMs, signal } = following
  const goesOn = `The workflow ${name} goes on.`
  yield sse('info', `The workflow ${name} reads and reports the image.`)
  if (unused.length > 0)
    yield sse(
      'warn',
      `${unused.join(', ')}: logins of a job are not used. Workflows have those of the integrations of the runtime.`,
    )
  const begun = clock.monotonic()
  try {
    while (clock.monotonic() - begun < MAX_MS) {
      yield sse('heartbeat', String(heartbeatMs))
      const { phase, message } = (await look(name, following)) ?? {}
      if (phase === 'succeeded' || phase === 'failed' || phase === 'error') {
        for (const { pod, text } of await linesOf(name, workflows))
          yield sse('workflow-log', JSON.stringify({ podName: pod, content: text }))
        yield phase === 'succeeded'
          ? sse('end', `The workflow ${name} has reported the image.`)
          : sse('error', problem(`The workflow ${name} ended in the phase ${phase}: ${message ?? 'see its logs'}.`))
        return
      }
      await clock.sleep(Math.min(heartbeatMs, LOOK_MS), signal)
    }
    yield sse('error', problem(`The time to wait is over. ${goesOn}`))
  } catch (error) {
    if (signal.aborted) yield sse('error', problem(`The app-proxy stops. ${goesOn}`))
    else yield sse('error', problem(isFault(error) ? error.message : `The workflow ${name} can no longer be followed.`))
  }
}

/** Returns undefined while the cluster does not answer, which says nothing of the workflow. */
async function look(name: string, { workflows, signal }: Following): Promise<Awaited<ReturnType<Workflows['look']>> | undefined> {
  const late = AbortSignal.timeout(LOOK_MS)
  try {
    return await workflows.look(name, AbortSignal.any([signal, late]))
  } catch (error) {
    signal.throwIfAborted()
    if (late.aborted || (isFault(error) && error.retryable)) return undefined
    throw error
  }
}

/** Argo Workflows may have deleted the pods. */
async function linesOf(name: string, workflows: Workflows): Promise<ContainerLog['items']> {
  const log = await workflows.logs(name, { container: 'main', tail: LOG_LINES, live: false }).catch((error: unknown) => {
    if (isFault(error)) return undefined
    throw error
  })
  return log?.items ?? []
}

function problem(message: string): string {
  return JSON.stringify({ name: 'ImageReportError', message })
}

/** A line feed would end the data. */
function sse(event: string, data: string): string {
  return `event: ${event}\ndata: ${data.replaceAll(/[\r\n]+/g, ' ')}\n\n`
}
