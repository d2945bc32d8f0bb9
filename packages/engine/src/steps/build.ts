/** Runs build steps: builds an image from a folder of the shared volume and pushes it if the step or account requires it. */
import { defined, splitList } from '@windlass/kit'
import { normalize, VOLUME_PATH, type ResolvedBuild } from '@windlass/plan'
import type { StepRun } from '../attempt/context.ts'
import { missingFolder } from '../image-build/build-failure.ts'
import { openBuilder } from '../image-build/builder.ts'
import { readContentKey, type ContentKey } from '../image-build/content.ts'
import { authsIn, loginsFor, openCredentials, toDockerConfig } from '../image-build/credentials.ts'
import { registerEmulators, requireTrusted } from '../image-build/emulators.ts'
import { takeKnownImage } from '../image-build/known-image.ts'
import type { LayerCache } from '../image-build/layer-cache.ts'
import { findPushTarget, type PushTarget } from '../image-build/push-target.ts'
import { requireLogin } from '../image-build/require-login.ts'
import { runBuildx, type BuildxRun } from '../image-build/run-buildx.ts'
import { signImage } from '../image-build/sign.ts'
import { pushAll } from './push-image.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'

const INLINE_DOCKERFILE = '/run/windlass/Dockerfile'

/** The built image, before it is pushed. */
interface Made {
  /** The reference for later steps: an id of the daemon, or a registry reference if the daemon does not have the image. */
  readonly imageId: string
  readonly contentHash?: string | undefined
  readonly cache?: LayerCache | undefined
  /** Set if the builder has pushed the image. */
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
  output.hide(authsIn(logins))
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
    sources: credentials.sources,
    builder,
    isClassic: action.squash,
    content,
    known: [...(content?.known.keys() ?? [])],
  }
  const known = await buildOrFind(run, { buildx, content, tags: wanted.tags })
  if (known.made !== undefined) return known.made
  const { built, contentHash } = known.end
  if (built === undefined) throw new Error('the builder reported a known image although it got none')
  const { hits, misses } = built.cache
  await output.say(`Layer cache: ${hits} of ${hits + misses} steps of the Dockerfile were cached, ${misses} ran.`)
  if (platforms.length <= 1) return { imageId: built.id, contentHash, cache: built.cache }
  if (wanted.target === undefined || built.digest === undefined)
    throw new StepFailure('build-failed', 'The builder did not report the digest of the pushed image.')
  return { imageId: `${wanted.target.repository}@${built.digest}`, cache: built.cache, digest: built.digest }
}

type Ended = { readonly made: Made } | { readonly made?: undefined; readonly end: Awaited<ReturnType<typeof runBuildx>> }

/** Throws `StepFailure` (`invalid-step`) if layers cannot be squashed. */
async function requireSquash({ action, context }: StepRun<ResolvedBuild>): Promise<void> {
  const needed = { buildkit: action.buildkit, buildx: action.buildx !== false, cache_to: action.cacheTo.length > 0 }
  const other = Object.entries(needed).find(([, isOn]) => isOn)?.[0]
  if (other !== undefined)
    throw new StepFailure('invalid-step', `"squash" and "${other}" cannot be combined, because BuildKit does not squash.`, {
      hint: 'A last stage that copies from the others (`COPY --from`) also has only one layer.',
    })
  if (!(await context.docker.readSettings()).isExperimental)
    throw new StepFailure(
      'invalid-step',
      '"squash" needs a Docker daemon with experimental features, which this daemon does not have.',
      {
        hint: 'Set "experimental": true in the daemon.json of the runtime, or copy into a last stage (`COPY --from`).',
      },
    )
}

/** Builds the image unless an image with the same content is available. */
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

/** Resolves `dockerfile` against the working directory, even if it looks absolute, unless it is a path on the shared volume. */
function dockerfilePath(directory: string, path: string): string {
  return normalize(path.startsWith(`${VOLUME_PATH}/`) ? path : `${directory}/${path}`)
}

/** Returns the tags. Default: the branch, else the commit. */
function tagsOf({ action, step }: StepRun<ResolvedBuild>): string[] {
  if (action.tags.length > 0) return [...action.tags]
  const { CF_BRANCH_TAG_NORMALIZED: branch, CF_SHORT_REVISION: revision } = step.environment
  const tag = branch || revision || 'latest'
  return [action.tagPolicy === 'lowercase' ? tag.toLowerCase() : tag]
}

function platformsOf({ platform }: ResolvedBuild): string[] {
  return splitList(platform ?? '')
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

/** Returns the options for the builder in the Docker daemon, which keeps the image there. */
async function daemonOptions(run: StepRun<ResolvedBuild>, { tags, target }: Wanted): Promise<string[]> {
  const { action, context, output, step } = run
  const options = tags.flatMap((tag) => ['--tag', `${action.imageName}:${tag}`])
  if (action.noCfCache || context.input.noCfCache === true || action.noCache || context.input.noCache) return options
  // The image contains a list of its layers, so that other disks can reuse them.
  if (target !== undefined && action.cacheTo.length === 0) options.push('--cache-to', 'type=inline')
  const last = context.input.knownImages?.find((image) => image.step === step.name && image.digest !== undefined)
  if (last?.digest === undefined || (await context.docker.inspectImage(last.imageId)) !== undefined) return options
  const reference = `${last.name}@${last.digest}`
  await output.say(`Layers may come from the last image of this step: --cache-from ${reference}`)
  return [...options, '--cache-from', reference]
}

/** Returns the options for a separate builder. It loads the image into the Docker daemon; a multi-platform image is pushed directly. */
function builderOptions({ imageName }: ResolvedBuild, { tags, target }: Wanted, platforms: readonly string[]): string[] {
  const platform = platforms.length === 0 ? [] : ['--platform', platforms.join(',')]
  if (platforms.length <= 1) return [...platform, '--load', ...tags.flatMap((tag) => ['--tag', `${imageName}:${tag}`])]
  if (target === undefined)
    throw new StepFailure(
      'invalid-step',
      'An image of several platforms must be pushed: a Docker daemon holds one platform only.',
      {
        hint: 'Add `registry` and remove `disable_push`.',
      },
    )
  return [...platform, '--push', ...tags.flatMap((tag) => ['--tag', `${target.repository}:${tag}`])]
}

async function prepareBuilder(run: StepRun<ResolvedBuild>, platforms: readonly string[]): Promise<string> {
  const settings = typeof run.action.buildx === 'object' ? run.action.buildx : undefined
  requireTrusted(run.context.input, settings?.qemu)
  const { id } = await openBuilder(run, settings?.builder)
  // The builder must run first, because it keeps the registration in the kernel.
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
  context.emit({
    type: 'image',
    step: step.name,
    imageId: made.imageId,
    name: target?.repository ?? action.imageName,
    tags: [...tags],
    ...defined({ digest, sizeBytes: image?.sizeBytes }),
    pushed: target !== undefined,
    ...defined({ contentHash: made.contentHash, cache: made.cache }),
  })
}
