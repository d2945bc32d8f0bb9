/** build steps (pipeline language 2.4): an image from a folder of the shared volume, pushed where step or account want it. */
import { normalize, VOLUME_PATH, type ResolvedBuild } from '@windlass/plan'
import { StepFailure, type StepOutcome, type StepRun } from '../attempt/context.ts'
import { missingFolder } from '../build/build-failure.ts'
import { openBuilder } from '../build/builder.ts'
import { readContentKey, type ContentKey } from '../build/content.ts'
import { loginsFor, openCredentials, toDockerConfig } from '../build/credentials.ts'
import { registerEmulators, requireTrusted } from '../build/emulators.ts'
import { takeKnownImage } from '../build/known-image.ts'
import type { LayerCache } from '../build/layer-cache.ts'
import { findPushTarget, type PushTarget } from '../build/push-target.ts'
import { requireLogin } from '../build/require-login.ts'
import { runBuildx, type BuildxRun } from '../build/run-buildx.ts'
import { signImage } from '../build/sign.ts'
import { pushAll } from './push-image.ts'

const INLINE_DOCKERFILE = '/run/windlass/Dockerfile'

/** What became of the image itself, before it is pushed. */
interface Made {
  /** What later steps name: an id of the daemon, or a reference at a registry when the daemon does not have it. */
  readonly imageId: string
  readonly contentHash?: string | undefined
  readonly cache?: LayerCache | undefined
  /** Set when the builder has pushed it. */
  readonly digest?: string | undefined
}

export async function runBuild(run: StepRun<ResolvedBuild>): Promise<StepOutcome> {
  const { action, context } = run
  requireLogin(action.aws)
  const tags = tagsOf(run)
  const found = findPushTarget(action, context.input)
  const target = 'repository' in found ? found : undefined
  const made = await makeImage(run, { tags, target })
  const digest = target === undefined ? undefined : (made.digest ?? (await push(run, { made, tags, target })))
  if ('why' in found) await run.output.say(`The image ${action.imageName}:${tags[0] ?? ''} is not pushed: ${found.why}.`)
  await report(run, { made, tags, target, digest })
  if (action.cosign?.sign === true) await signImage(run, { options: action.cosign.options, target, digest })
  const members = {
    imageName: action.imageName,
    imageTagName: tags[0] ?? '',
    imageId: made.imageId,
    workingDirectory: action.directory,
    ...(target !== undefined && digest !== undefined && { imageRepoDigest: `${target.repository}@${digest}` }),
  }
  return { status: 'success', exitCode: 0, members, exports: [] }
}

interface Wanted {
  readonly tags: readonly string[]
  readonly target: PushTarget | undefined
}

async function makeImage(run: StepRun<ResolvedBuild>, wanted: Wanted): Promise<Made> {
  const { action, context, output } = run
  const { input, workspace } = context
  if ((await workspace.stat(action.directory)) === undefined) throw missingFolder(action.directory)
  const dockerfile = 'path' in action.dockerfile ? dockerfilePath(action.directory, action.dockerfile.path) : INLINE_DOCKERFILE
  if (action.squash) await requireSquash(run)
  const logins = loginsFor(action, input.registries)
  const platforms = platformsOf(action)
  const isForBuilder = action.buildx !== false || platforms.length > 0 || action.cacheTo.some((entry) => !isInline(entry))
  const mayLook = !isForBuilder && !action.noCache && !input.noCache && !action.noCfCache && input.noCfCache !== true
  const [credentials, content, builder] = await Promise.all([
    openCredentials(run),
    mayLook ? readContentKey(run, { dockerfilePath: dockerfile, registries: logins }) : undefined,
    isForBuilder ? prepareBuilder(run, platforms) : undefined,
  ])
  const buildx: BuildxRun = {
    dockerfile,
    options: [
      ...commonOptions(run),
      ...credentials.options,
      ...(action.squash
        ? ['--squash', ...wanted.tags.flatMap((tag) => ['--tag', `${action.imageName}:${tag}`])]
        : isForBuilder
          ? builderOptions(action, wanted, platforms)
          : await daemonOptions(run, wanted)),
    ],
    files: {
      ...credentials.files,
      'config.json': JSON.stringify(toDockerConfig(logins)),
      ...('content' in action.dockerfile && { Dockerfile: action.dockerfile.content }),
    },
    builder,
    isClassic: action.squash,
    content,
    known: [...(content?.known.keys() ?? [])],
  }
  const known = await buildOrFind(run, { buildx, content, tags: wanted.tags })
  if (known.made !== undefined) return known.made
  const { built, contentHash } = known.end
  if (built === undefined) throw new Error('a builder that knows no image answered a known one')
  const { hits, misses } = built.cache
  await output.say(`Layer cache: ${hits} of ${hits + misses} steps of the Dockerfile were found, ${misses} ran.`)
  if (platforms.length <= 1) return { imageId: built.id, contentHash, cache: built.cache }
  if (wanted.target === undefined || built.digest === undefined)
    throw new StepFailure('build-failed', 'The builder did not say under which digest it pushed the image.')
  return { imageId: `${wanted.target.repository}@${built.digest}`, cache: built.cache, digest: built.digest }
}

type Ended = { readonly made: Made } | { readonly made?: undefined; readonly end: Awaited<ReturnType<typeof runBuildx>> }

/** Throws `StepFailure` (`invalid-step`) where layers cannot be squashed. */
async function requireSquash({ action, context }: StepRun<ResolvedBuild>): Promise<void> {
  const needed = { buildkit: action.buildkit, buildx: action.buildx !== false, cache_to: action.cacheTo.length > 0 }
  const other = Object.entries(needed).find(([, isOn]) => isOn)?.[0]
  if (other !== undefined)
    throw new StepFailure('invalid-step', `"squash" and "${other}" do not go together: BuildKit does not squash.`, {
      hint: 'A last stage that copies from the others (`COPY --from`) has one layer too.',
    })
  if (!(await context.docker.readSettings()).isExperimental)
    throw new StepFailure('invalid-step', '"squash" needs a Docker daemon with experimental features, and this one has none.', {
      hint: 'Set "experimental": true in the daemon.json of the runtime, or copy into a last stage (`COPY --from`).',
    })
}

/** Builds, unless an image of the same content can be had. */
async function buildOrFind(
  run: StepRun<ResolvedBuild>,
  { buildx, content, tags }: { buildx: BuildxRun; content: ContentKey | undefined; tags: readonly string[] },
): Promise<Ended> {
  const first = await runBuildx(run, buildx)
  if (first.built !== undefined || content === undefined) return { end: first }
  const source = content.known.get(first.contentHash ?? '')
  const imageId = source && (await takeKnownImage(run, { source, tags }))
  if (imageId !== undefined) return { made: { imageId, contentHash: first.contentHash } }
  return { end: await runBuildx(run, { ...buildx, known: [] }) }
}

/** `dockerfile` is below the working directory, though it looks absolute, unless it is a path on the shared volume. */
function dockerfilePath(directory: string, path: string): string {
  return normalize(path.startsWith(`${VOLUME_PATH}/`) ? path : `${directory}/${path}`)
}

/** Without tags: the branch, else the commit, as a tag. */
function tagsOf({ action, step }: StepRun<ResolvedBuild>): string[] {
  if (action.tags.length > 0) return [...action.tags]
  const { CF_BRANCH_TAG_NORMALIZED: branch, CF_SHORT_REVISION: revision } = step.environment
  const tag = branch || revision || 'latest'
  return [action.tagPolicy === 'lowercase' ? tag.toLowerCase() : tag]
}

function platformsOf({ platform }: ResolvedBuild): string[] {
  return (platform ?? '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
}

function isInline(entry: string): boolean {
  return entry === 'type=inline' || entry.startsWith('type=inline,')
}

function commonOptions({ action, context }: StepRun<ResolvedBuild>): string[] {
  return [
    ...(action.squash ? [] : [`--progress=${action.progress === 'rawjson' ? 'rawjson' : 'plain'}`]),
    ...action.buildArguments.flatMap((argument) => ['--build-arg', argument]),
    ...(action.target === undefined || action.target === '' ? [] : ['--target', action.target]),
    ...(action.noCache || context.input.noCache ? ['--no-cache'] : []),
    ...action.cacheFrom.flatMap((source) => ['--cache-from', source]),
    ...action.cacheTo.flatMap((destination) => ['--cache-to', destination]),
  ]
}

/** The builder inside the Docker daemon leaves the image there. */
async function daemonOptions(run: StepRun<ResolvedBuild>, { tags, target }: Wanted): Promise<string[]> {
  const { action, context, output, step } = run
  const options = tags.flatMap((tag) => ['--tag', `${action.imageName}:${tag}`])
  if (action.noCfCache || context.input.noCfCache === true || action.noCache || context.input.noCache) return options
  // The image carries a list of its layers, so that another disk can use them.
  if (target !== undefined && action.cacheTo.length === 0) options.push('--cache-to', 'type=inline')
  const last = context.input.knownImages?.find((image) => image.step === step.name && image.digest !== undefined)
  if (last?.digest === undefined || (await context.docker.inspectImage(last.imageId)) !== undefined) return options
  const reference = `${last.name}@${last.digest}`
  await output.say(`Layers may come from the last image of this step: --cache-from ${reference}`)
  return [...options, '--cache-from', reference]
}

/** A builder of its own hands the image to the Docker daemon; one of several platforms goes to the registry at once. */
function builderOptions({ imageName }: ResolvedBuild, { tags, target }: Wanted, platforms: readonly string[]): string[] {
  const platform = platforms.length === 0 ? [] : ['--platform', platforms.join(',')]
  if (platforms.length <= 1) return [...platform, '--load', ...tags.flatMap((tag) => ['--tag', `${imageName}:${tag}`])]
  if (target === undefined)
    throw new StepFailure(
      'invalid-step',
      'An image of several platforms must be pushed: a Docker daemon holds one platform only.',
      {
        hint: 'Write `registry`, and leave out `disable_push`.',
      },
    )
  return [...platform, '--push', ...tags.flatMap((tag) => ['--tag', `${target.repository}:${tag}`])]
}

async function prepareBuilder(run: StepRun<ResolvedBuild>, platforms: readonly string[]): Promise<string> {
  const settings = typeof run.action.buildx === 'object' ? run.action.buildx : undefined
  requireTrusted(run.context.input, settings?.qemu)
  const { id } = await openBuilder(run, settings?.builder)
  // After the builder: it keeps what the kernel is told.
  await registerEmulators(run, { platforms, qemu: settings?.qemu })
  return id
}

function push(
  run: StepRun<ResolvedBuild>,
  { made, tags, target }: { made: Made; tags: readonly string[]; target: PushTarget },
): Promise<string | undefined> {
  return pushAll(run, { image: made.imageId, tags, ...target })
}

interface Reported extends Wanted {
  readonly made: Made
  readonly digest: string | undefined
}

async function report(
  { action, context, step }: StepRun<ResolvedBuild>,
  { made, tags, target, digest }: Reported,
): Promise<void> {
  const image = await context.docker.inspectImage(made.imageId)
  context.tell({
    type: 'image',
    step: step.name,
    imageId: made.imageId,
    name: target?.repository ?? action.imageName,
    tags: [...tags],
    ...(digest !== undefined && { digest }),
    ...(image !== undefined && { sizeBytes: image.sizeBytes }),
    pushed: target !== undefined,
    ...(made.contentHash !== undefined && { contentHash: made.contentHash }),
    ...(made.cache !== undefined && { cache: made.cache }),
  })
}
