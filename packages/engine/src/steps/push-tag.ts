/** Runs push-tag steps: adds tags to an image at a registry without transferring its layers. */
import { readFileSync } from 'node:fs'
import type { ResolvedPushTag } from '@windlass/plan'
import type { RegistryAccess } from '@windlass/protocol'
import type { StepRun } from '../attempt/context.ts'
import { findRegistryOf, getRegistry, loginFor, qualify } from '../attempt/registries.ts'
import { parseImageName, registryDomain, type RegistryLogin } from '../docker/images.ts'
import { requireLogin } from '../image-build/require-login.ts'
import { pushAll } from './push-image.ts'
import { runTool } from '../containers/tool-container.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'

const SCRIPT = readFileSync(new URL('retag.sh', import.meta.url), 'utf8')
const UNREACHABLE = 30
const NOT_FOUND = 31
const NOT_ALLOWED = 32
/** Docker Hub is served under another name than the one in image names. */
const HUB = 'registry-1.docker.io'

interface Source {
  /** `registry.example.com/team/app` */
  readonly repository: string
  /** Tag or digest. */
  readonly reference: string
  readonly login: RegistryLogin | undefined
}

export async function runPushTag(run: StepRun<ResolvedPushTag>): Promise<StepOutcome> {
  const { action, context, output } = run
  requireLogin(action.aws)
  const source = toSource(action, context.input.registries)
  const { repository, reference } = source
  const name = reference.startsWith('sha256:') ? `${repository}@${reference}` : `${repository}:${reference}`
  const end = await retag(run, source)
  if (end.exitCode === NOT_FOUND)
    throw new StepFailure('image-not-found', `The image ${name} does not exist at its registry.`, {
      hint: 'Push it in an earlier step, and check the tag. The default tag is `latest`.',
    })
  if (end.exitCode === NOT_ALLOWED)
    throw new StepFailure('push-failed', `The registry does not allow tagging ${name}.`, {
      hint: 'Check username and password of the registry context, and their permission to push.',
    })
  let digest = end.digest
  if (end.exitCode === UNREACHABLE) {
    // Only the daemon may know the certificate or have access to the network. It must pull the image for this.
    await output.say(`The registry does not answer directly. The Docker daemon pulls and pushes the image instead.`)
    digest = await context.images.use(
      { name, registryContext: action.registry },
      { signal: run.signal, say: (line) => output.say(line) },
      (image) => pushAll(run, { image: image.id, repository, tags: action.tags, login: source.login }),
    )
  } else if (end.exitCode !== 0)
    throw new StepFailure('push-failed', `${name} cannot be tagged: ${end.errors || `exit code ${end.exitCode}`}`)
  await output.say(`${name} now has the tags ${action.tags.join(', ')}${digest === undefined ? '' : ` (${digest})`}.`)
  return {
    status: 'success',
    exitCode: 0,
    members: {
      registry: registryDomain(repository),
      imageName: repository,
      imageTagName: action.tags[0] ?? '',
      ...(digest !== undefined && { imageRepoDigest: `${repository}@${digest}` }),
    },
    exports: [],
  }
}

function toSource(action: ResolvedPushTag, registries: readonly RegistryAccess[]): Source {
  const { repository: written, tag, digest } = parseImageName(action.imageName)
  const named = action.registry === undefined || action.registry === '' ? undefined : getRegistry(action.registry, registries)
  const registry =
    named ??
    (registryDomain(written) === 'docker.io'
      ? registries.find(({ isDefault }) => isDefault)
      : findRegistryOf(written, registries))
  const repository = qualify(written, registry)
  return { repository, reference: digest ?? tag ?? 'latest', login: loginFor(repository, registry) }
}

async function retag(
  run: StepRun<ResolvedPushTag>,
  { repository, reference, login }: Source,
): Promise<{ exitCode: number; digest: string | undefined; errors: string }> {
  const domain = registryDomain(repository)
  const { insecureRegistries } = await run.context.docker.readSettings()
  const isPlain = insecureRegistries.includes(domain) || /^(localhost|127\.\d+\.\d+\.\d+)(:\d+)?$/.test(domain)
  const path = repository.startsWith(`${domain}/`) ? repository.slice(domain.length + 1) : repository
  const end = await runTool(run, {
    script: SCRIPT,
    environment: {
      BASE: `${isPlain ? 'http' : 'https'}://${domain === 'docker.io' ? HUB : domain}`,
      REPOSITORY: domain === 'docker.io' && !path.includes('/') ? `library/${path}` : path,
      REFERENCE: reference,
      TAGS: run.action.tags.join(' '),
    },
    secrets: { login: login === undefined ? '' : `user = ${JSON.stringify(`${login.username}:${login.password}`)}\n` },
    // The Docker daemon reaches the registry through the host network.
    network: 'host',
  })
  const digest = end.result.toString('utf8').trim()
  return { exitCode: end.exitCode, digest: digest === '' ? undefined : digest, errors: end.tail.trim().slice(-500) }
}
