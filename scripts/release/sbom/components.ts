/** The packages of an image, by the records that package managers and compilers leave in it. */
import type { BundledPackage } from '../../bundle.ts'
import type { Entry } from '../tar.ts'
import { pathOf } from '../oci/layer.ts'
import type { Component } from './component.ts'
import { goModules } from './go-modules.ts'

const DPKG_STATUS = /^var\/lib\/dpkg\/status(?:\.d\/[^/]+)?$/
const NPM_PACKAGE = /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/
/** The record of the bundles, written by `scripts/bundle.ts`. */
const BUNDLED = /(?:^|\/)dist\/packages\.json$/
/** Programs of Go are larger. Bytes. */
const MIN_GO_BYTES = 500_000

export interface Inventory {
  /** Takes the entries of the next layer. */
  add(entries: readonly Entry[]): void
  /** Returns the packages of all layers, sorted and unique. */
  components(): Component[]
}

/** Opens the inventory of one image. A file of a higher layer replaces that of a lower one. */
export function openInventory(): Inventory {
  const files = new Map<string, Component[]>()
  return {
    add(entries) {
      for (const entry of entries) {
        const path = pathOf(entry.header.name)
        const found = inspect(path, entry)
        if (found !== undefined) files.set(path, found)
      }
    },
    components: () => sortComponents([...files.values()].flat()),
  }
}

/** Sorts by package URL, and removes repetitions. */
export function sortComponents(components: readonly Component[]): Component[] {
  const unique = new Map(components.map((component) => [component.purl, component]))
  return [...unique.values()].toSorted((a, b) => (a.purl < b.purl ? -1 : 1))
}

function inspect(path: string, { header, read }: Entry): Component[] | undefined {
  if (read === undefined) return undefined
  if (DPKG_STATUS.test(path)) return debianPackages(read().toString())
  if (BUNDLED.test(path)) return (JSON.parse(read().toString()) as BundledPackage[]).map(npmPackage)
  if (NPM_PACKAGE.test(path)) {
    const found = JSON.parse(read().toString()) as Partial<BundledPackage>
    return found.name === undefined || found.version === undefined
      ? []
      : [npmPackage({ ...found, name: found.name, version: found.version })]
  }
  const isProgram = ((header.mode ?? 0) & 0o111) !== 0 && (header.size ?? 0) >= MIN_GO_BYTES
  return isProgram ? goModules(read()) : undefined
}

/** Returns the component of an npm package. Older packages have other values than a text as their license. */
export function npmPackage({ name, version, license }: BundledPackage): Component {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return { name, version, purl, ...(typeof license === 'string' && { license }) }
}

/** Returns the installed packages of `/var/lib/dpkg/status`, or of one file of `status.d`. */
function debianPackages(status: string): Component[] {
  return status.split(/\n\n+/).flatMap((stanza) => {
    const field = (name: string): string | undefined => new RegExp(`^${name}: (.+)$`, 'm').exec(stanza)?.[1]
    const [name, version, architecture] = [field('Package'), field('Version'), field('Architecture')]
    if (name === undefined || version === undefined || field('Status')?.endsWith(' installed') !== true) return []
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture ?? 'all'}&distro=debian-13`
    return [{ name, version, purl }]
  })
}
