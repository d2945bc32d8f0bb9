/** Kind build: builds an image from a Dockerfile and pushes it. */
import { toDockerTag } from '../expression/builtin-variables.ts'
import { fillVolumeDirectory } from '../fields/directory.ts'
import { fillAws, fillTags } from '../fields/registry.ts'
import type { Aws } from '../fields/registry.ts'
import type { StepFields } from '../fields/step-fields.ts'
import type { Filled, FlagTemplate, Template } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

export interface BuildAction {
  readonly kind: 'build'
  readonly imageName: Template
  /** If empty, the branch is the tag. */
  readonly tags: readonly Template[]
  readonly tagPolicy: 'lowercase' | 'original'
  /** A path relative to the working directory, or the content of the Dockerfile. */
  readonly dockerfile: { readonly path: Template } | { readonly content: Template }
  readonly workingDirectory?: Template
  readonly buildArguments: readonly Template[]
  readonly target?: Template
  readonly noCache: FlagTemplate
  readonly noCfCache: FlagTemplate
  readonly cacheFrom: readonly Template[]
  readonly registry?: Template
  readonly registryContexts: readonly Template[]
  /** True: do not push. If absent, the account decides (pushed if a registry is named or a default one exists). */
  readonly disablePush?: FlagTemplate
  readonly buildkit: FlagTemplate
  readonly progress?: Template
  readonly squash: FlagTemplate
  readonly cacheTo: readonly Template[]
  /** BuildKit secrets: `id` and the file, relative to the working directory or absolute on the shared volume. */
  readonly secrets: readonly { readonly id: Template; readonly src: Template }[]
  /** `default`, or `name=path` entries. */
  readonly ssh: readonly Template[]
  /** A flag, or the settings of a dedicated builder. */
  readonly buildx: FlagTemplate | Buildx
  /** Comma separated; needs `buildx`. */
  readonly platform?: Template
  readonly cosign?: { readonly sign: FlagTemplate; readonly options: Readonly<Record<string, Template>> }
  readonly aws?: Aws
}

export interface Buildx {
  readonly qemu: { readonly image: Template; readonly platforms: Template }
  readonly builder: { readonly driver: Template; readonly driverOpts?: Template }
}

export type ResolvedBuild = Omit<Filled<BuildAction>, 'buildx' | 'cosign'> & {
  readonly directory: string
  readonly buildx: boolean | Buildx
  readonly cosign?: { readonly sign: boolean; readonly options: Readonly<Record<string, string>> }
}

export const build = {
  performedBy: 'engine',
  resolve,
  subject: ({ imageName, tags }, fill) =>
    tags.length === 0 ? fill(imageName) : `${fill(imageName)}:${tags.map(fill).join(', ')}`,
  images: () => [],
  refersTo: 'image',
  usesServices: false,
  canOverride: false,
  fillsVolume: false,
} satisfies ActionKind<BuildAction, ResolvedBuild>

function resolve(action: BuildAction, fields: StepFields): ResolvedBuild {
  const { dockerfile } = action
  return {
    kind: 'build',
    imageName: fields.required('image_name', action.imageName).toLowerCase(),
    tags: action.tags.length > 0 ? fillTags(action.tags, fields, action.tagPolicy) : [defaultTag(action, fields)],
    tagPolicy: action.tagPolicy,
    dockerfile:
      'path' in dockerfile
        ? { path: fields.required('dockerfile', dockerfile.path) }
        : { content: fields.text('dockerfile.content', dockerfile.content) },
    ...fields.optional('workingDirectory', 'working_directory', action.workingDirectory),
    directory: fillVolumeDirectory(action.workingDirectory, fields, 'main-clone'),
    buildArguments: fields.list('build_arguments', action.buildArguments),
    ...fields.optional('target', 'target', action.target),
    noCache: fields.flag('no_cache', action.noCache),
    noCfCache: fields.flag('no_cf_cache', action.noCfCache),
    cacheFrom: fields.list('cache_from', action.cacheFrom),
    ...fields.optional('registry', 'registry', action.registry),
    registryContexts: fields.list('registry_contexts', action.registryContexts),
    ...(action.disablePush !== undefined && { disablePush: fields.flag('disable_push', action.disablePush) }),
    buildkit: fields.flag('buildkit', action.buildkit),
    ...fields.optional('progress', 'progress', action.progress),
    squash: fields.flag('squash', action.squash),
    cacheTo: fields.list('cache_to', action.cacheTo),
    secrets: action.secrets.map(({ id, src }, index) => ({
      id: fields.required(`secrets[${index}].id`, id),
      src: fields.required(`secrets[${index}].src`, src),
    })),
    ssh: fields.list('ssh', action.ssh),
    buildx: fillBuildx(action.buildx, fields),
    ...fields.optional('platform', 'platform', action.platform),
    ...(action.cosign !== undefined && {
      cosign: {
        sign: fields.flag('cosign.sign', action.cosign.sign),
        options: Object.fromEntries(
          Object.entries(action.cosign.options).map(([key, value]) => [key, fields.text(`cosign.options.${key}`, value)]),
        ),
      },
    }),
    ...fillAws(action.aws, fields),
  }
}

function fillBuildx(buildx: BuildAction['buildx'], fields: StepFields): ResolvedBuild['buildx'] {
  if (typeof buildx !== 'object') return fields.flag('buildx', buildx)
  const { qemu, builder } = buildx
  return {
    qemu: {
      image: fields.required('buildx.qemu.image', qemu.image),
      platforms: fields.required('buildx.qemu.platforms', qemu.platforms),
    },
    builder: {
      driver: fields.required('buildx.builder.driver', builder.driver),
      ...fields.optional('driverOpts', 'buildx.builder.driver_opts', builder.driverOpts),
    },
  }
}

/** Returns the tag of an image without tags: the branch as a tag, else the short revision, else `latest`. */
function defaultTag({ tagPolicy }: BuildAction, { scope }: StepFields): string {
  const branch = scope.lookup('CF_BRANCH')
  const branchTag = scope.lookup('CF_BRANCH_TAG_NORMALIZED') ?? (branch === undefined ? undefined : toDockerTag(branch))
  const tag = branchTag ?? scope.lookup('CF_SHORT_REVISION') ?? 'latest'
  return tagPolicy === 'lowercase' ? tag.toLowerCase() : tag
}
