/** Registries of build and push steps against those of the account. */
import * as read from '../fields.ts'
import type { Entries } from '../fields.ts'
import { child, textOf } from '../tree.ts'
import type { TreeNode } from '../tree.ts'
import type { AccountRegistry } from './account.ts'
import { isRegistryHost, registryKind } from './account.ts'
import type { ContextPlace } from './integrations.ts'
import { checkNamed, checkRegistryContexts, REGISTRY, tellLack, warnOfDefault } from './integrations.ts'

const REGISTRY_FIELD = { ...REGISTRY, field: 'registry' }

/** `push` and `push-tag`: codes 200 to 203 and 206. */
export function checkPush(entries: Entries, place: ContextPlace): void {
  const { registries } = place.account
  const registry = read.text(entries, 'registry')
  const isNamed = registry !== undefined && !isRegistryHost(registry)
  checkNamed(entries.get('registry_context')?.value, { ...REGISTRY, field: 'registry_context' }, place)
  if (registries === undefined) return isNamed ? checkNamed(entries.get('registry')?.value, REGISTRY_FIELD, place) : undefined
  // A variable may hold the host of a registry that needs no integration.
  const isOpen = registry?.includes('${{') === true
  if (registries.length === 0 && !isOpen) return registry === undefined || isNamed ? tellMissing(place) : undefined
  if (isNamed) checkNamed(entries.get('registry')?.value, REGISTRY_FIELD, place)
  if (registry === undefined && registries.length > 1)
    warnOfDefault('registry-implied', { field: 'registry', noun: 'registry integrations', of: registries }, place)
  if (read.text(entries, 'provider') !== 'ecr') checkRegion(entries, registryOf(entries, registries), place)
}

function tellMissing(place: ContextPlace): void {
  const { path, range } = place
  tellLack(place, 'registry-missing', range, 'there is no registry integration to push to', {
    path: `${path}.registry`,
    hint: 'Add a context of type registry, or write the host of a registry as "registry".',
  })
}

/** `build`: codes 201, 202 and 204 to 207. */
export function checkBuild(entries: Entries, place: ContextPlace): void {
  const { registries } = place.account
  const registry = read.text(entries, 'registry')
  if (registry !== undefined && !isRegistryHost(registry)) checkNamed(entries.get('registry')?.value, REGISTRY_FIELD, place)
  checkRegistryContexts(entries, place)
  if (registry === undefined && place.buildVersion === 'v2') checkPushTarget(entries, place)
  if (registries === undefined) return
  checkRegion(entries, registryOf(entries, registries), place)
  checkDomains(entries, registries, place)
  checkGcb(entries, registries, place)
}

/** What becomes of the image of a step that names no registry. */
function checkPushTarget(entries: Entries, place: ContextPlace): void {
  const { report, path, range, account } = place
  if (entries.has('disable_push') || account.disablePush) return
  const where = { path: `${path}.registry` }
  if (!account.autoPush) {
    tellLack(place, 'registry-required', range, "'registry' is required", {
      ...where,
      hint: 'Name the registry integration to push to, or write "disable_push: true".',
    })
  } else if (account.registries?.some(({ isDefault }) => isDefault) === false) {
    report.warning('registry-none', range, 'no registry is named and there is no default one: the image is not pushed', {
      ...where,
      hint: 'Name a registry integration, or write "disable_push: true".',
    })
  }
}

function registryOf(entries: Entries, registries: readonly AccountRegistry[]): AccountRegistry | undefined {
  const name = read.text(entries, 'registry')
  return name === undefined ? registries.find(({ isDefault }) => isDefault) : registries.find((one) => one.name === name)
}

function checkRegion(entries: Entries, registry: AccountRegistry | undefined, { report, path }: ContextPlace): void {
  const region = entries.get('region')
  if (region === undefined || registry === undefined || registryKind(registry.domain) === 'ecr') return
  report.error('aws-access', region.keyRange, `"region" is only allowed with an ECR registry, which "${registry.name}" is not`, {
    path: `${path}.region`,
  })
}

/** A pull has one login for each domain: two integrations of one domain cannot both be used. Told once. */
function checkDomains(entries: Entries, registries: readonly AccountRegistry[], { report, path }: ContextPlace): void {
  const listed = read.node(entries, 'registry_contexts')
  const items: readonly TreeNode[] = listed?.kind === 'list' ? listed.items : []
  const target = registryOf(entries, registries)
  const isBuildx = read.node(entries, 'buildx') !== undefined && read.flag(entries, 'buildx') !== false
  const taken = new Map(isBuildx && target !== undefined ? [[target.domain.toLowerCase(), target.name]] : [])
  for (const item of items) {
    const registry = registries.find(({ name }) => name === textOf(item))
    if (registry === undefined) continue
    const domain = registry.domain.toLowerCase()
    const other = taken.get(domain)
    taken.set(domain, registry.name)
    if (other === undefined || other === registry.name) continue
    return report.error(
      'registry-twice',
      item.range,
      `"${other}" and "${registry.name}" are registries of one domain, ${registry.domain}`,
      {
        path: `${path}.registry_contexts`,
        hint: 'Keep one of them.',
      },
    )
  }
}

function checkGcb(entries: Entries, registries: readonly AccountRegistry[], { report, path }: ContextPlace): void {
  const provider = read.map(entries, 'provider')
  if (provider === undefined || read.text(provider.entries, 'type') !== 'gcb') return
  const hasLogin = textOf(child(read.map(provider.entries, 'arguments'), 'google_app_creds')) !== undefined
  if (hasLogin || registries.some(({ domain }) => registryKind(domain) === 'google')) return
  report.error('gcb-access', provider.range, 'Google Cloud Build needs "google_app_creds" or a Google registry', {
    path: `${path}.provider.arguments.google_app_creds`,
  })
}
