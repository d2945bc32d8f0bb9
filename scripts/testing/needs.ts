/** Determines which parts the test files of a group use, from their text and that of the helpers that they import. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob, resolve } from 'node:path'
import { importsOf } from '../check-imports.ts'
import type { Group, Part } from './groups.ts'

const root = resolve(import.meta.dirname, '../..')

/** The start of one of these programs, by any of the functions that start one. */
const starts = (...programs: readonly string[]): RegExp =>
  new RegExp(`(?:\\b(?:run\\w*|spawn\\w*|execFile\\w*|promisify\\(execFile\\))\\(\\s*|command: )'(?:${programs.join('|')})'`)

/** Patterns in a source that show that it uses a part. */
const SIGNS: readonly { readonly part: Part; readonly signs: readonly RegExp[] }[] = [
  { part: 'postgres', signs: [/\bstartPostgres\(/, starts('psql')] },
  { part: 'registry', signs: [starts('docker-registry')] },
  { part: 'skopeo', signs: [starts('skopeo')] },
  { part: 'browser', signs: [/\/chromium-headless-shell'/] },
  { part: 'node20', signs: [/scripts\/release\/node20/] },
  { part: 'codefresh-cli', signs: [/scripts\/codefresh-cli/] },
  { part: 'programs', signs: [/\/support\/programs\.ts'/, /\bprogramFile\(/] },
  { part: 'web', signs: [/packages\/web\/dist/] },
  { part: 'openssl', signs: [starts('openssl')] },
  { part: 'python', signs: [starts('python3')] },
  { part: 'git', signs: [starts('git')] },
  {
    part: 'system',
    signs: [starts('ip', 'iptables', 'unshare', 'nsenter', 'nft', 'mount', 'umount', 'ps', 'pgrep', 'mkfs.ext4')],
  },
  { part: 'moto', signs: [/scripts\/moto/] },
  { part: 'gitea', signs: [/scripts\/gitea\/build/] },
  { part: 'go-sdk', signs: [/scripts\/go-sdk\/build/] },
  { part: 'argocd', signs: [/scripts\/argocd\/build/] },
  { part: 'traefik', signs: [/scripts\/traefik\/build/] },
  { part: 'helm', signs: [/scripts\/helm\/build/] },
  { part: 'cluster', signs: [/scripts\/cluster/, starts('kubectl')] },
  { part: 'docker', signs: [starts('docker'), /scripts\/docker/, /\b(?:openDocker|testDocker)\(/] },
  { part: 'image:buildkit', signs: [/\bBUILDKIT_IMAGE\b/, /\bbuildx: /] },
  { part: 'image:cosign', signs: [/\bCOSIGN_IMAGE\b/, /\bcosign: /] },
  { part: 'image:deploy', signs: [/\bDEPLOY_IMAGE\b/] },
]
const IMAGES = /\b(?:ensureImages|image)\(((?:\s*'[a-z-]+',?)+)\s*\)/g
const LOCAL_IMAGE = /\bwindlass\.local\/([a-z]+):\d/g

/** Returns the parts that the text of one file uses. */
export function partsOf(text: string): Set<string> {
  const found = new Set<string>(SIGNS.filter(({ signs }) => signs.some((sign) => sign.test(text))).map(({ part }) => part))
  for (const [, names = ''] of text.matchAll(IMAGES)) {
    for (const [, name = ''] of names.matchAll(/'([a-z-]+)'/g)) found.add(`image:${name}`)
  }
  for (const [, name = ''] of text.matchAll(LOCAL_IMAGE)) found.add(`image:${name}`)
  return found
}

/** Returns the test files of a group. */
export function filesOf(group: Group): string[] {
  const excluded = (file: string): boolean => (group.exclude ?? []).some((glob) => matchesGlob(file, glob))
  return (group.include ?? [])
    .flatMap((glob) => globSync(glob, { cwd: root }))
    .filter((file) => !file.includes('node_modules') && !excluded(file))
}

/** Returns every part that a test file uses, directly or through its helpers, with the file that uses it. */
export function usesOf(file: string): Map<string, string> {
  const uses = new Map<string, string>()
  for (const each of withHelpers(file)) {
    for (const part of partsOf(readFileSync(join(root, each), 'utf8'))) uses.set(part, each)
  }
  return uses
}

/** Returns a test file and the files that it imports, without the sources of the packages, which are under test. */
function withHelpers(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  const text = readFileSync(join(root, file), 'utf8')
  for (const module of importsOf(text).filter((name) => name.startsWith('.'))) {
    const target = join(dirname(file), module)
    if (!/^packages\/[^/]+\/src\//.test(target) && existsSync(join(root, target)) && target.endsWith('.ts'))
      withHelpers(target, seen)
  }
  return seen
}
