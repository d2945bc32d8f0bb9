/** deploy steps (pipeline language 2.10): a new image behind a Service of Kubernetes, or a manifest; then the wait for the roll-out. */
import { readFileSync } from 'node:fs'
import { labelValue, type ClusterAccess, type RegistryAccess } from '@windlass/protocol'
import type { ResolvedDeploy } from '@windlass/plan'
import { DEPLOY_IMAGE, StepFailure, type StepOutcome, type StepRun } from '../attempt/context.ts'
import { getRegistry, qualify, toLogin } from '../attempt/registries.ts'
import { toDockerConfig } from '../build/credentials.ts'
import { parseImageName } from '../docker/images.ts'
import { runTool, type ToolEnd } from './tool-container.ts'

const SCRIPT = readFileSync(new URL('deploy.sh', import.meta.url), 'utf8')
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024

export async function runDeploy(run: StepRun<ResolvedDeploy>): Promise<StepOutcome> {
  const { action, context, output, signal } = run
  const { kubeconfig } = getCluster(action.cluster, context.input.clusters ?? [])
  const { environment, secrets } = 'filePath' in action.target ? await manifestOf(run, action.target.filePath) : imageOf(run)
  const image = await context.images.ensure({ name: DEPLOY_IMAGE }, { signal, say: (line) => output.say(line) })
  await output.say(`Deploying to the namespace ${action.namespace} of the cluster ${action.cluster}.`)
  const end = await runTool(run, {
    image: image.name,
    script: SCRIPT,
    environment: {
      NAMESPACE: action.namespace,
      ROLLOUT_SECONDS: String(Math.ceil(action.rolloutTimeoutMs / 1000)),
      SERVICE: '',
      IMAGE: '',
      PULL_SECRET: '',
      ...environment,
    },
    secrets: { kubeconfig, ...secrets },
    // The cluster is reached as the daemon's machine reaches it: those on laptops listen on its loopback alone.
    network: 'host',
  })
  if (end.exitCode !== 0) throw failureOf(action, end)
  return { status: 'success', exitCode: 0, members: {}, exports: [] }
}

/** Throws `StepFailure` (`integration-missing`). */
function getCluster(name: string, clusters: readonly ClusterAccess[]): ClusterAccess {
  const found = clusters.find(({ context }) => context === name)
  if (found !== undefined) return found
  throw new StepFailure('integration-missing', `There is no cluster integration "${name}".`, {
    hint: `Known here: ${clusters.map(({ context }) => context).join(', ') || 'none'}. Add one with \`windlass create -f\`, kind context, type kubernetes.`,
  })
}

interface Deployed {
  readonly environment: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
}

async function manifestOf({ context, step }: StepRun, path: string): Promise<Deployed> {
  const text = await context.workspace.read(path, MAX_MANIFEST_BYTES)
  if (text === undefined)
    throw new StepFailure('deploy-failed', `There is no manifest at ${path}, or it has more than ${MAX_MANIFEST_BYTES} bytes.`, {
      hint: '`file_path` starts at the folder of `main_clone`, else at the shared volume. Is the repository cloned before?',
    })
  return { environment: {}, secrets: { manifest: fillManifest(text, step.environment) } }
}

/** Each `{{NAME}}` that names a variable is replaced by its value; others stay, for they may mean something to whoever reads the manifest. */
export function fillManifest(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/(?<!\$)\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g, (whole, name: string) =>
    Object.hasOwn(variables, name) ? (variables[name] ?? whole) : whole,
  )
}

/** What the cluster pulls, and with which login. */
function imageOf(run: StepRun<ResolvedDeploy>): Deployed {
  const { target } = run.action
  if (!('service' in target)) return { environment: {}, secrets: {} }
  const { service, candidate } = target
  if (candidate === undefined) return { environment: { SERVICE: service }, secrets: {} }
  const registry = getRegistry(candidate.registry, run.context.input.registries)
  const image = nameFor(candidate, registry, run.membersOf)
  const environment = { SERVICE: service, IMAGE: image, PULL_SECRET: pullSecretName(candidate.registry) }
  const login = toLogin(registry)
  return { environment, secrets: login === undefined ? {} : { 'pull-secret': JSON.stringify(toDockerConfig([registry])) } }
}

/** Names of Secrets are names of domains. */
function pullSecretName(registry: string): string {
  return `windlass-pull-${labelValue(registry).toLowerCase().replaceAll('_', '-')}`
}

type Candidate = NonNullable<Extract<ResolvedDeploy['target'], { service: string }>['candidate']>

/** The image as it is called at the registry; the id of a step's image would mean nothing to a cluster. */
export function nameFor({ image, step }: Candidate, registry: RegistryAccess, membersOf: StepRun['membersOf']): string {
  const members = step === undefined ? {} : membersOf(step)
  const { imageRepoDigest, imageName, imageTagName } = members
  if (imageRepoDigest !== undefined && imageRepoDigest !== '') return imageRepoDigest
  const name = imageName === undefined ? image : `${imageName}:${imageTagName ?? 'latest'}`
  const { repository, tag, digest } = parseImageName(name)
  if (repository === 'sha256')
    throw new StepFailure('invalid-step', 'The candidate of a deploy step must have a name in a registry, not an image id.')
  return `${qualify(repository, registry)}${digest === undefined ? `:${tag ?? 'latest'}` : `@${digest}`}`
}

const TOO_LATE = 32

function failureOf(action: ResolvedDeploy, end: ToolEnd): StepFailure {
  if (end.exitCode !== TOO_LATE)
    return new StepFailure('deploy-failed', `The deployment was refused: ${lastLine(end.tail)}`, {
      hint: 'The log above has the words of kubectl.',
    })
  const words = end.result
    .toString('utf8')
    .trim()
    .split('\n')
    .filter((line) => line !== '')
  return new StepFailure(
    'deploy-failed',
    `The roll-out was not complete after ${action.rolloutTimeoutMs / 1000} s. ${words.join(' ⏎ ')}`.trim(),
    { hint: 'Give it more time with `timeout`, in seconds, or mend what the cluster says.' },
  )
}

function lastLine(tail: string): string {
  return tail.trim().split('\n').at(-1) ?? 'kubectl gave no reason.'
}
