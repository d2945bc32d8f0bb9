/** push-tag steps (pipeline language 2.6): further tags for an image that is at a registry already. Its layers stay where they are. */
import { readFileSync } from 'node:fs'
import type { ResolvedPushTag } from '@windlass/plan'
import type { RegistryAccess } from '@windlass/protocol'
import { StepFailure, type StepOutcome, type StepRun } from '../attempt/context.ts'
import { findRegistryOf, getRegistry, qualify, toLogin } from '../attempt/registries.ts'
import { parseImageName, registryDomain, type RegistryLogin } from '../docker/images.ts'
import { requireLogin } from '../build/require-login.ts'
import { pushAll } from './push-image.ts'
import { runTool } from './tool-container.ts'

const SCRIPT = readFileSync(new URL('retag.sh', import.meta.url), 'utf8')
const UNREACHABLE = 30
const NOT_FOUND = 31
const NOT_ALLOWED = 32
/** Docker Hub answers at another name than the one in image names. */
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
    throw new StepFailure('image-not-found', `There is no image ${name} at its registry.`, {
      hint: 'Is it pushed before, and is the tag right? Without a tag `latest` is meant.',
    })
  if (end.exitCode === NOT_ALLOWED)
    throw new StepFailure('push-failed', `The registry does not allow to tag ${name}.`, {
      hint: 'Check username and password of the registry context, and that they may push.',
    })
  let digest = end.digest
  if (end.exitCode === UNREACHABLE) {
    // A certificate that only the daemon knows, or a network that only it is in: the daemon can do it, at the cost of pulling the image.
    await output.say(`The registry does not answer directly; the image is pulled and pushed by the Docker daemon.`)
    const found = await context.images.ensure(
      { name, registryContext: action.registry },
      { signal: run.signal, say: (line) => output.say(line) },
    )
    digest = await pushAll(run, { image: found.id, repository, tags: action.tags, login: source.login })
  } else if (end.exitCode !== 0)
    throw new StepFailure('push-failed', `${name} cannot be tagged: ${end.said || `exit code ${end.exitCode}`}`)
  await output.say(`${name} has the tags ${action.tags.join(', ')} now${digest === undefined ? '' : ` (${digest})`}.`)
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
  return { repository: qualify(written, registry), reference: digest ?? tag ?? 'latest', login: toLogin(registry) }
}

async function retag(
  run: StepRun<ResolvedPushTag>,
  { repository, reference, login }: Source,
): Promise<{ exitCode: number; digest: string | undefined; said: string }> {
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
    // The registry is reached as the Docker daemon reaches it.
    network: 'host',
  })
  const digest = end.result.toString('utf8').trim()
  return { exitCode: end.exitCode, digest: digest === '' ? undefined : digest, said: end.tail.trim().slice(-500) }
}
