/** Step type build: builds an image from a Dockerfile. */
import type { BuildAction, Buildx } from '@windlass/plan'
import { checkBuild } from '../context/check-registries.ts'
import { checkFields, isVariable } from '../language/check.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { eachText, isOn, nameAndValue, reportValue, warnOfUppercase } from '../language/step-rules.ts'
import type { RulePlace, BuiltInStepType } from '../language/step-type.ts'
import { child, textOf } from '../syntax/tree.ts'
import type { TreeNode } from '../syntax/tree.ts'
import { checkAws, toAws } from './aws.ts'
import { BUILD, BUILDER_DRIVER, GCB_ARGUMENTS, QEMU_DEFAULTS } from './build-fields.ts'
import { renameField } from './common-fields.ts'

export const build: BuiltInStepType<BuildAction> = {
  about: 'Builds an image from a Dockerfile and pushes it.',
  open: false,
  fields: BUILD,
  rule(entries, place) {
    warnOfUppercase(entries, place)
    eachText(entries, 'build_arguments', { ...place, problemOf: nameAndValue })
    eachText(entries, 'secrets', {
      ...place,
      problemOf: (entry) => (toSecret(entry) === undefined ? 'must have the form id=NAME,src=FILE' : undefined),
    })
    checkSsh(entries, place)
    checkBuildx(entries, place)
    checkProvider(entries, place)
    checkAws(entries, place)
    if (place.buildVersion === 'v1') refuseVersionTwo(entries, place)
  },
  checkContext: checkBuild,
  fromManifest(entries) {
    renameField(entries, 'repository', 'image_name')
    const dockerfile = entries.get('dockerfile')
    const path = child(dockerfile?.value, 'path')
    if (dockerfile !== undefined && path !== undefined) entries.set('dockerfile', { ...dockerfile, value: path })
  },
  toAction,
}

function refuseVersionTwo(entries: Entries, { report, path }: RulePlace): void {
  for (const key of ['registry', 'tags', 'disable_push']) {
    const entry = entries.get(key)
    if (entry === undefined) continue
    report.error('not-allowed', entry.keyRange, `"${key}" is not allowed with "build_version: v1"`, {
      path: `${path}.${key}`,
      hint: 'Use "build_version: v2".',
    })
  }
}

function checkSsh(entries: Entries, { report, path }: RulePlace): void {
  const written = read.node(entries, 'ssh')
  const text = textOf(written)
  if (written === undefined || text === undefined || text === 'default' || isVariable(text)) return
  reportValue(written, { report, path: `${path}.ssh` }, '"ssh" must be "default", an array or an object')
}

function checkBuildx(entries: Entries, { report, path }: RulePlace): void {
  const platform = entries.get('platform')
  const hasBuildx = isOn(entries, 'buildx')
  if (platform !== undefined && !hasBuildx) {
    report.error('not-allowed', platform.keyRange, '"platform" is only allowed with "buildx"', {
      path: `${path}.platform`,
      hint: 'Write "buildx: true".',
    })
  }
  const push = entries.get('disable_push')
  if (push !== undefined && hasBuildx && read.flag(entries, 'disable_push') === true) {
    report.error('conflict', push.keyRange, '"disable_push" cannot be true with "buildx"', {
      path: `${path}.disable_push`,
      hint: 'buildx pushes images while it builds them. Remove one of the two.',
    })
  }
}

function checkProvider(entries: Entries, { report, path }: RulePlace): void {
  const provider = read.map(entries, 'provider')
  const written = provider?.entries.get('arguments')
  if (provider === undefined || read.text(provider.entries, 'type') !== 'gcb') return
  const spot = { key: 'arguments', path: `${path}.provider.arguments` }
  const type = provider.entries.get('type')
  if (type !== undefined)
    report.warning('no-effect', type.value.range, '"gcb" has no effect; the Docker daemon of the build builds the image', {
      path: `${path}.provider.type`,
    })
  if (written === undefined || written.value.kind !== 'map')
    report.error('required', written?.keyRange ?? provider.range, '"arguments" is required and must be an object', spot)
  else checkFields(written.value.entries, GCB_ARGUMENTS, { spot, report, open: false, range: written.keyRange })
}

function toAction(entries: Entries): BuildAction {
  const content = textOf(child(read.map(entries, 'dockerfile'), 'content'))
  const progress = read.text(entries, 'progress')
  const secrets = toSecrets(read.node(entries, 'secrets'))
  const ssh = toSsh(entries)
  const isBuildkit = progress !== undefined || secrets.length > 0 || ssh.length > 0
  return {
    kind: 'build',
    imageName: read.text(entries, 'image_name') ?? '',
    tags: read.tags(entries),
    tagPolicy: read.text(entries, 'tag_policy') === 'original' ? 'original' : 'lowercase',
    dockerfile: content === undefined ? { path: read.text(entries, 'dockerfile') ?? 'Dockerfile' } : { content },
    ...read.when('workingDirectory', read.text(entries, 'working_directory')),
    buildArguments: read.texts(entries, 'build_arguments') ?? [],
    ...read.when('target', read.text(entries, 'target')),
    noCache: read.flag(entries, 'no_cache') ?? false,
    noCfCache: read.flag(entries, 'no_cf_cache') ?? false,
    cacheFrom: read.texts(entries, 'cache_from') ?? [],
    ...read.when('registry', read.text(entries, 'registry')),
    registryContexts: read.texts(entries, 'registry_contexts') ?? [],
    ...read.when('disablePush', read.flag(entries, 'disable_push')),
    buildkit: isBuildkit || (read.flag(entries, 'buildkit') ?? false),
    ...read.when('progress', progress),
    squash: read.flag(entries, 'squash') ?? false,
    cacheTo: read.texts(entries, 'cache_to') ?? [],
    secrets,
    ssh,
    buildx: toBuildx(entries),
    ...read.when('platform', read.text(entries, 'platform')),
    ...read.when('cosign', toCosign(entries)),
    ...read.when('aws', toAws(entries)),
  }
}

function toSecrets(list: TreeNode | undefined): BuildAction['secrets'] {
  if (list?.kind !== 'list') return []
  return list.items.flatMap((item) => {
    if (item.kind !== 'map') return toSecret(textOf(item) ?? '') ?? []
    const [id, src] = [read.text(item.entries, 'id'), read.text(item.entries, 'src')]
    return id === undefined || src === undefined ? [] : [{ id, src }]
  })
}

/** Parses `id=NAME,src=FILE`, in any order and with other settings. Returns undefined if one of the two is missing. */
function toSecret(text: string): { id: string; src: string } | undefined {
  const settings = new Map(
    text.split(',').map((part): [string, string] => {
      const sign = part.indexOf('=')
      return sign < 0 ? [part.trim(), ''] : [part.slice(0, sign).trim(), part.slice(sign + 1).trim()]
    }),
  )
  const id = settings.get('id') ?? ''
  const src = settings.get('src') ?? settings.get('source') ?? ''
  return id === '' || src === '' ? undefined : { id, src }
}

function toSsh(entries: Entries): string[] {
  const map = read.map(entries, 'ssh')
  if (map === undefined) return read.line(entries, 'ssh') ?? []
  return [...map.entries.values()].flatMap(({ key, value }) => {
    const path = textOf(value)
    return path === undefined ? [] : [`${key}=${path}`]
  })
}

function toBuildx(entries: Entries): BuildAction['buildx'] {
  const settings = read.map(entries, 'buildx')
  if (settings === undefined) return read.flag(entries, 'buildx') ?? false
  const qemu = read.map(settings.entries, 'qemu')?.entries ?? new Map<string, never>()
  const builder = read.map(settings.entries, 'builder')?.entries ?? new Map<string, never>()
  return {
    qemu: {
      image: read.text(qemu, 'image') ?? QEMU_DEFAULTS.image,
      platforms: read.text(qemu, 'platforms') ?? QEMU_DEFAULTS.platforms,
    },
    builder: {
      driver: read.text(builder, 'driver') ?? BUILDER_DRIVER,
      ...read.when('driverOpts', read.text(builder, 'driver_opts')),
    },
  } satisfies Buildx
}

function toCosign(entries: Entries): BuildAction['cosign'] {
  const written = read.map(entries, 'cosign')
  if (written === undefined) return undefined
  const options = read.map(written.entries, 'options')
  return {
    sign: read.flag(written.entries, 'sign') ?? false,
    options: Object.fromEntries([...(options?.entries.values() ?? [])].map(({ key, value }) => [key, textOf(value) ?? ''])),
  }
}
