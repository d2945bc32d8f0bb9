/** Runs deploy steps: a new image behind a Kubernetes Service, or a manifest, followed by the wait for the rollout. */
import { readFileSync } from 'node:fs'
import { labelValue, type ClusterAccess, type RegistryAccess } from '@windlass/protocol'
import type { ResolvedDeploy } from '@windlass/plan'
import { DEPLOY_IMAGE, type StepRun } from '../attempt/context.ts'
import { getRegistry, qualify, toLogin } from '../attempt/registries.ts'
import { toDockerConfig } from '../image-build/credentials.ts'
import { parseImageName } from '../docker/images.ts'
import { runTool, type ToolEnd, type ToolRun } from '../containers/tool-container.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'

const SCRIPT = readFileSync(new URL('deploy.sh', import.meta.url), 'utf8')
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024

export async function runDeploy(run: StepRun<ResolvedDeploy>): Promise<StepOutcome> {
  const { action, context, output, signal } = run
  const { kubeconfig } = getCluster(action.cluster, context.input.clusters ?? [])
  const { environment, secrets } = 'filePath' in action.target ? await manifestOf(run, action.target.filePath) : imageOf(run)
  const tool: ToolRun = {
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
    // The cluster is reached like from the daemon's machine: local clusters listen only on its loopback.
    network: 'host',
  }
  const say = (line: string): Promise<void> => output.say(line)
  const end = await context.images.use({ name: DEPLOY_IMAGE }, { signal, say }, async ({ name }) => {
    await say(`Deploying to the namespace ${action.namespace} of the cluster ${action.cluster}.`)
    return runTool(run, { ...tool, image: name })
  })
  if (end.exitCode !== 0) throw failureOf(action, end)
  return { status: 'success', exitCode: 0, members: {}, exports: [] }
}

/** Throws `StepFailure` (`integration-missing`). */
function getCluster(name: string, clusters: readonly ClusterAccess[]): ClusterAccess {
  const found = clusters.find(({ context }) => context === name)
  if (found !== undefined) return found
  throw new StepFailure('integration-missing', `There is no cluster integration "${name}".`, {
    hint: `Known integrations: ${clusters.map(({ context }) => context).join(', ') || 'none'}. Add one with \`windlass create -f\`, kind context, type kubernetes.`,
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
      hint: '`file_path` starts at the folder of `main_clone`, else at the shared volume. Clone the repository in an earlier step.',
    })
  return { environment: {}, secrets: { manifest: fillManifest(text, step.environment) } }
}

/** Replaces `{{NAME}}` with the value of the variable. Unknown names are kept, because they may have a meaning in the manifest. */
export function fillManifest(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/(?<!\$)\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g, (whole, name: string) =>
    Object.hasOwn(variables, name) ? (variables[name] ?? whole) : whole,
  )
}

/** Returns the image for the cluster and its pull secret. */
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

/** Returns the name of the pull Secret. Names of Secrets must be DNS names. */
function pullSecretName(registry: string): string {
  return `windlass-pull-${labelValue(registry).toLowerCase().replaceAll('_', '-')}`
}

type Candidate = NonNullable<Extract<ResolvedDeploy['target'], { service: string }>['candidate']>

/** Returns the name of the image at the registry. An image id of the daemon would not mean anything to a cluster. */
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
      hint: 'See the kubectl output in the log above.',
    })
  const messages = end.result
    .toString('utf8')
    .trim()
    .split('\n')
    .filter((line) => line !== '')
  return new StepFailure(
    'deploy-failed',
    `The rollout was not complete after ${action.rolloutTimeoutMs / 1000} s. ${messages.join(' ⏎ ')}`.trim(),
    { hint: 'Increase `timeout` (seconds), or fix what the cluster reports.' },
  )
}

function lastLine(tail: string): string {
  return tail.trim().split('\n').at(-1) ?? 'kubectl gave no reason.'
}
