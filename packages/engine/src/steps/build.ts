/** build steps (pipeline language 2.4): an image from a folder of the shared volume, pushed where the account wants it. */
import { readFileSync } from 'node:fs'
import { normalize, VOLUME_PATH, type ResolvedBuild } from '@windlass/plan'
import type { RegistryAccess } from '@windlass/protocol'
import { StepFailure, type StepOutcome, type StepRun } from '../attempt/context.ts'
import { findRegistryOf, getRegistry, qualify, toLogin } from '../attempt/registries.ts'
import { registryDomain } from '../docker/images.ts'
import { pushAll } from './push-image.ts'
import { runTool } from './tool-container.ts'

const SCRIPT = readFileSync(new URL('build.sh', import.meta.url), 'utf8')
const INLINE_DOCKERFILE = '/run/windlass/Dockerfile'

export async function runBuild(run: StepRun<ResolvedBuild>): Promise<StepOutcome> {
  const { action, context } = run
  const { registries } = context.input
  const tags = tagsOf(run)
  const dockerfile = 'path' in action.dockerfile ? normalize(`${action.directory}/${action.dockerfile.path}`) : INLINE_DOCKERFILE
  const logins = loginsFor(action, registries)
  const target = action.disablePush === true ? undefined : pushTarget(action, registries)
  const end = await runTool(run, {
    script: SCRIPT,
    environment: { DIRECTORY: action.directory, DOCKERFILE: dockerfile },
    secrets: {
      options: optionsOf(run, tags).join('\0'),
      'config.json': JSON.stringify(toDockerConfig(logins)),
      ...('content' in action.dockerfile && { Dockerfile: action.dockerfile.content }),
    },
    mounts: [{ type: 'bind', source: context.docker.socketPath, target: '/var/run/docker.sock', readOnly: false }],
  })
  if (end.exitCode !== 0) throw buildFailure(end, { directory: action.directory, dockerfile })
  const imageId = end.result.toString('utf8').trim()
  const members = { imageName: action.imageName, imageTagName: tags[0] ?? '', imageId, workingDirectory: action.directory }
  if (target !== undefined)
    await pushAll(run, {
      image: imageId,
      repository: qualify(action.imageName, target.registry),
      tags,
      login: toLogin(target.registry),
    })
  else
    await run.output.say(
      `The image ${action.imageName}:${tags[0] ?? ''} is not pushed${action.disablePush === true ? '' : ': no registry is named and there is no default one'}.`,
    )
  return { status: 'success', exitCode: 0, members, exports: [] }
}

/** Without tags: the branch, else the commit, as a tag. */
function tagsOf({ action, step }: StepRun<ResolvedBuild>): string[] {
  if (action.tags.length > 0) return [...action.tags]
  const { CF_BRANCH_TAG_NORMALIZED: branch, CF_SHORT_REVISION: revision } = step.environment
  const tag = branch || revision || 'latest'
  return [action.tagPolicy === 'lowercase' ? tag.toLowerCase() : tag]
}

function optionsOf({ action, context }: StepRun<ResolvedBuild>, tags: readonly string[]): string[] {
  const progress = ['plain', 'quiet', 'rawjson'].includes(action.progress ?? '') ? (action.progress ?? 'plain') : 'plain'
  return [
    `--progress=${progress}`,
    ...tags.flatMap((tag) => ['--tag', `${action.imageName}:${tag}`]),
    ...action.buildArguments.flatMap((argument) => ['--build-arg', argument]),
    ...(action.target === undefined ? [] : ['--target', action.target]),
    ...(action.noCache || context.input.noCache ? ['--no-cache'] : []),
    ...action.cacheFrom.flatMap((source) => ['--cache-from', source]),
  ]
}

/** One login per domain: what the step names, else the primary integration. Two of one domain are an error (7.5). */
function loginsFor(action: ResolvedBuild, registries: readonly RegistryAccess[]): RegistryAccess[] {
  const named = action.registryContexts.map((name) => getRegistry(name, registries))
  const twice = named.find((registry, index) => named.findIndex(({ domain }) => domain === registry.domain) !== index)
  if (twice !== undefined) throw new StepFailure('invalid-step', `"registry_contexts" names two integrations of ${twice.domain}.`)
  const others = [...new Set(registries.map(({ domain }) => domain))]
    .filter((domain) => !named.some((registry) => registry.domain === domain))
    .map((domain) => findRegistryOf(`${domain}/x`, registries))
    .filter((registry) => registry !== undefined)
  return [...named, ...others]
}

/** Docker Hub has a key of its own in the CLI's configuration. */
function toDockerConfig(registries: readonly RegistryAccess[]): object {
  const auths = registries.flatMap((registry) => {
    const login = toLogin(registry)
    if (login === undefined) return []
    const key = login.domain === 'docker.io' ? 'https://index.docker.io/v1/' : login.domain
    return [[key, { auth: Buffer.from(`${login.username}:${login.password}`).toString('base64') }] as const]
  })
  return { auths: Object.fromEntries(auths) }
}

function pushTarget(
  action: ResolvedBuild,
  registries: readonly RegistryAccess[],
): { registry: RegistryAccess | undefined } | undefined {
  if (action.registry !== undefined) return { registry: getRegistry(action.registry, registries) }
  if (registryDomain(action.imageName) !== 'docker.io')
    return action.disablePush === false ? { registry: findRegistryOf(action.imageName, registries) } : undefined
  const registry = registries.find(({ isDefault }) => isDefault)
  return registry && { registry }
}

function buildFailure(
  end: { exitCode: number; tail: string },
  { directory, dockerfile }: { directory: string; dockerfile: string },
): StepFailure {
  if (end.exitCode === 20)
    return new StepFailure('build-failed', `The folder ${directory} does not exist.`, {
      hint: `Is the code cloned before? Folders are below ${VOLUME_PATH}.`,
    })
  if (end.exitCode === 21)
    return new StepFailure('build-failed', `There is no Dockerfile at ${dockerfile}.`, {
      hint: '`dockerfile` is relative to `working_directory`.',
    })
  if (end.exitCode === 137)
    return new StepFailure('out-of-memory', 'The build was killed (exit code 137), most likely because memory ran out.')
  const said = /ERROR: (?:failed to build: )?(?:failed to solve: )?(.+)/.exec(end.tail)?.[1]
  return new StepFailure(
    'build-failed',
    said === undefined ? `The build ended with exit code ${end.exitCode}.` : `The image cannot be built: ${said.trim()}`,
  )
}
