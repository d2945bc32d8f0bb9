/** The table of the uses of keys, against the schema and the code that reads the keys. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { KEY_USES, useOf } from './key-uses.ts'
import { RESOURCE_KEYS } from '../sections/kubernetes-section.ts'
import { readConfigText } from '../read.ts'
import { RunnerConfig } from '../schema.ts'
import { unwrap } from './unknown-keys.ts'

/** Paths of the keys that have no keys below them. */
function keysOf(schema: z.ZodType, path: readonly string[] = []): (readonly string[])[] {
  const inner = unwrap(schema)
  if (inner instanceof z.ZodArray && inner.element instanceof z.ZodType) return keysOf(inner.element, path)
  if (!(inner instanceof z.ZodObject)) return [path]
  const shape: Readonly<Record<string, z.ZodType>> = inner.shape
  return Object.entries(shape).flatMap(([key, below]) => keysOf(below, [...path, key]))
}

const KEYS = keysOf(RunnerConfig)

/** Text of the code that can read keys: not that of the schema and of this table, and without comments. */
function codeOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const isSchema = (file: string): boolean => /config\/(?:[\w-]+-section|schema|key-uses|unused-keys)\.ts$/.test(file)
  return files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !isSchema(join(folder, file)))
    .map((file) => readFileSync(join(folder, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, ''))
    .join('\n')
}

test('each key of the schema has a use, and each entry is a key of the schema', () => {
  expect(KEYS.filter((path) => useOf(path) === undefined).map((path) => path.join('.'))).toEqual([])
  const known = KEYS.map((path) => path.join('.'))
  const isKnown = (entry: string): boolean => known.some((key) => key === entry || key.startsWith(`${entry}.`))
  expect(Object.keys(KEY_USES).filter((entry) => !isKnown(entry))).toEqual([])
})

test('the code reads each key that is used', () => {
  const root = join(import.meta.dirname, '../../../..')
  const code = codeOf(join(root, 'gitlab/src')) + codeOf(join(root, 'cli/src/commands/gitlab'))
  // Their names are composed, of an owner, a resource and a kind, or of a table and its guard.
  const guards = ['node_selector', 'node_tolerations', 'pod_labels', 'pod_annotations'].map((key) => `${key}_overwrite_allowed`)
  const composed = new Set<string>([...RESOURCE_KEYS.flatMap((key) => [key, `${key}_overwrite_max_allowed`]), ...guards])
  const isRead = (key: string): boolean =>
    composed.has(key) || new RegExp(`\\.${key}\\b|['"]${key}['"]|[{,]\\s*${key}\\s*[,:=}]`).test(code)
  const names = Object.entries(KEY_USES).flatMap(([path, { use }]) => (use === 'used' ? [path.split('.').at(-1) ?? ''] : []))
  expect(names.filter((name) => !isRead(name))).toEqual([])
})

const FILE = `concurrent = 1
sentry_dsn = "https://key@sentry.test/1"
[session_server]
session_timeout = 1800
[[runners]]
name = "shop"
url = "https://gitlab.test"
token = "glrt-abc"
executor = "kubernetes"
prepare_timeout = "5m"
[runners.cache]
Type = "s3"
[runners.cache.s3]
BucketName = "ci"
AssumeRoleMaxConcurrency = 9
[runners.cache.gcs]
[runners.kubernetes]
namespace = "jobs"
poll_interval = 5
print_pod_warning_events = true
pod_disruption_budget = false
bearer_token_overwrite_allowed = true
[runners.kubernetes.autoscaler]
max_pause_pods = 3
[[runners.kubernetes.services]]
name = "redis:7"
suspend_data_path = "/data"
`

test('a key that is set and not used has one warning with its place, the reason and what to do', () => {
  const { config, findings } = readConfigText(FILE)
  expect(config).toBeDefined()
  expect(findings.map(({ line, key, runner }) => ({ line, key, runner }))).toEqual([
    { line: 2, key: 'sentry_dsn', runner: undefined },
    { line: 10, key: 'runners[0].prepare_timeout', runner: 'shop' },
    { line: 15, key: 'runners[0].cache.s3.AssumeRoleMaxConcurrency', runner: 'shop' },
    { line: 22, key: 'runners[0].kubernetes.bearer_token_overwrite_allowed', runner: 'shop' },
    { line: 23, key: 'runners[0].kubernetes.autoscaler', runner: 'shop' },
    { line: 27, key: 'runners[0].kubernetes.services[0].suspend_data_path', runner: 'shop' },
  ])
  expect(findings[1]).toMatchObject({
    severity: 'warning',
    message: 'the key "prepare_timeout" has no effect: the time for the pod to start has one limit',
    hint: 'Set `poll_timeout` of [runners.kubernetes], in seconds.',
  })
})
