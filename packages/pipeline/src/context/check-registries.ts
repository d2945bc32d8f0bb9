/** Checks the registries of build and push steps against those of the account. */
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { child, textOf } from '../syntax/tree.ts'
import type { TreeNode } from '../syntax/tree.ts'
import type { AccountRegistry } from './account.ts'
import { isRegistryHost, registryKind } from './account.ts'
import type { ContextPlace } from '../language/step-type.ts'
import { checkNamed, checkRegistryContexts, REGISTRY, reportMissing, warnOfDefault } from './integrations.ts'

const REGISTRY_FIELD = { ...REGISTRY, field: 'registry' }

/** Checks `push` and `push-tag` steps: codes 200 to 203 and 206. */
export function checkPush(entries: Entries, place: ContextPlace): void {
  const { registries } = place.account
  const registry = read.text(entries, 'registry')
  const isNamed = registry !== undefined && !isRegistryHost(registry)
  checkNamed(entries.get('registry_context')?.value, { ...REGISTRY, field: 'registry_context' }, place)
  if (registries === undefined) return isNamed ? checkNamed(entries.get('registry')?.value, REGISTRY_FIELD, place) : undefined
  // A variable may hold the host of a registry that needs no integration.
  const isOpen = registry?.includes('${{') === true
  if (registries.length === 0 && !isOpen) return registry === undefined || isNamed ? reportNoRegistry(place) : undefined
  if (isNamed) checkNamed(entries.get('registry')?.value, REGISTRY_FIELD, place)
  if (registry === undefined && registries.length > 1)
    warnOfDefault('registry-implied', { field: 'registry', noun: 'registry integrations', of: registries }, place)
  if (read.text(entries, 'provider') !== 'ecr') checkRegion(entries, registryOf(entries, registries), place)
}

function reportNoRegistry(place: ContextPlace): void {
  const { path, range } = place
  reportMissing(place, 'registry-missing', range, 'the account has no registry integration to push to', {
    path: `${path}.registry`,
    hint: 'Add a context of type registry, or set "registry" to a registry host.',
  })
}

/** Checks `build` steps: codes 201, 202 and 204 to 207. */
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

/** Checks what happens to the image of a step that names no registry. */
function checkPushTarget(entries: Entries, place: ContextPlace): void {
  const { report, path, range, account } = place
  if (entries.has('disable_push') || account.disablePush) return
  const where = { path: `${path}.registry` }
  if (!account.autoPush) {
    reportMissing(place, 'registry-required', range, "'registry' is required", {
      ...where,
      hint: 'Set "registry" to a registry integration, or set "disable_push: true".',
    })
  } else if (account.registries?.some(({ isDefault }) => isDefault) === false) {
    report.warning(
      'registry-none',
      range,
      '"registry" is not set and the account has no default registry; the image is not pushed',
      {
        ...where,
        hint: 'Set "registry" to a registry integration, or set "disable_push: true".',
      },
    )
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

/** Reports two integrations of one domain, once. A pull has one login per domain, so they cannot both be used. */
function checkDomains(entries: Entries, registries: readonly AccountRegistry[], { report, path }: ContextPlace): void {
  const listed = read.node(entries, 'registry_contexts')
  const items: readonly TreeNode[] = listed?.kind === 'list' ? listed.items : []
  if (items.length === 0) return
  // The first of two registries with one name counts, as everywhere.
  const byName = new Map(registries.toReversed().map((one) => [one.name, one]))
  const target = registryOf(entries, registries)
  const isBuildx = read.node(entries, 'buildx') !== undefined && read.flag(entries, 'buildx') !== false
  const taken = new Map(isBuildx && target !== undefined ? [[target.domain.toLowerCase(), target.name]] : [])
  for (const item of items) {
    const registry = byName.get(textOf(item) ?? '')
    if (registry === undefined) continue
    const domain = registry.domain.toLowerCase()
    const other = taken.get(domain)
    taken.set(domain, registry.name)
    if (other === undefined || other === registry.name) continue
    return report.error(
      'registry-twice',
      item.range,
      `registries "${other}" and "${registry.name}" have the same domain ${registry.domain}`,
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
