/**
 * Step types travis, simple_travis and integration-test: tests with services next to them. Each becomes a composition whose only candidate is
 * the test.
 */
import type { CompositionAction, JsonTemplate } from '@windlass/plan'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { any, either, record, text, word } from '../language/shape.ts'
import type { Field, Fields, Shape } from '../language/shape.ts'
import { nameAndValue, reportValue } from '../language/step-rules.ts'
import type { ActionPlace, RulePlace, BuiltInStepType } from '../language/step-type.ts'
import { child, textOf } from '../syntax/tree.ts'
import type { MapNode, TreeNode } from '../syntax/tree.ts'

/** Services that documents can request by name, with image and port. */
export const PRECONFIGURED: Readonly<
  Record<string, { readonly image: string; readonly port: number; readonly environment?: readonly string[] }>
> = {
  mysql: { image: 'mysql:8.4', port: 3306, environment: ['MYSQL_ALLOW_EMPTY_PASSWORD=yes'] },
  postgresql: { image: 'postgres:17', port: 5432, environment: ['POSTGRES_HOST_AUTH_METHOD=trust'] },
  mariadb: { image: 'mariadb:11', port: 3306, environment: ['MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=yes'] },
  mongodb: { image: 'mongo:8', port: 27017 },
  couchdb: { image: 'couchdb:3', port: 5984, environment: ['COUCHDB_USER=admin', 'COUCHDB_PASSWORD=admin'] },
  rabbitmq: { image: 'rabbitmq:4', port: 5672 },
  memcached: { image: 'memcached:1', port: 11211 },
  redis: { image: 'redis:7', port: 6379 },
  cassandra: { image: 'cassandra:5', port: 9042 },
  neo4j: { image: 'neo4j:5', port: 7687, environment: ['NEO4J_AUTH=none'] },
  elasticsearch: {
    image: 'elasticsearch:8.17.0',
    port: 9200,
    environment: ['discovery.type=single-node', 'xpack.security.enabled=false'],
  },
  rethinkdb: { image: 'rethinkdb:2.4', port: 28015 },
}

const environment: Shape = either({ kind: 'list', of: text }, { kind: 'map', of: { kind: 'text', empty: true } })

const services: Field = {
  shape: {
    kind: 'map',
    of: record({
      image: { shape: text, required: true, about: 'Service image.' },
      ports: {
        shape: { kind: 'list', of: { kind: 'number', above: 0, whole: true } },
        about: 'Ports that the service listens on.',
      },
      environment: { shape: environment, about: 'List of `NAME=VALUE`, or a mapping of names to values.' },
    }),
  },
  about: 'Services by name; the names are their host names.',
}
const preconfigured: Shape = { kind: 'list', of: word(...Object.keys(PRECONFIGURED)) }

function test(fields: Fields): Field {
  return {
    shape: record({
      image: { shape: text, required: true, about: 'Test image.' },
      ...fields,
      working_directory: { shape: text, about: 'Working directory of the test; the folder of `main_clone` by default.' },
    }),
    required: true,
    about: 'The test that decides the result.',
  }
}
const command: Fields = { command: { shape: text, required: true, about: 'Command of the test, run by a shell.' } }

export const travis: BuiltInStepType<CompositionAction> = {
  about: 'Runs a test with custom services.',
  open: true,
  fields: {
    services: { ...services, required: true },
    test: test(command),
    create_file: { shape: any, about: 'Has no effect.' },
  },
  rule: checkServices,
  checkContext: undefined,
  toAction: (entries, place) => toComposition(entries, ownServices(entries), place),
}

export const simpleTravis: BuiltInStepType<CompositionAction> = {
  about: 'Runs a test with preconfigured services.',
  open: true,
  fields: { services: { shape: preconfigured, required: true, about: 'Services by name.' }, test: test(command) },
  checkContext: undefined,
  toAction: (entries, place) => toComposition(entries, knownServices(read.texts(entries, 'services') ?? []), place),
}

export const integrationTest: BuiltInStepType<CompositionAction> = {
  about: 'Runs a test with preconfigured and custom services.',
  open: true,
  fields: {
    services,
    preconfigured_services: { shape: preconfigured, about: 'Preconfigured services by name.' },
    test: test({
      commands: {
        shape: { kind: 'list', of: text, least: 1 },
        required: true,
        about: 'Commands of the test, run by a shell with `set -e`.',
      },
    }),
  },
  rule: checkServices,
  checkContext: undefined,
  toAction(entries, place) {
    const known = knownServices(read.texts(entries, 'preconfigured_services') ?? [])
    return toComposition(entries, { ...known, ...ownServices(entries) }, place)
  },
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]+$/

function checkServices(entries: Entries, { report, path }: RulePlace): void {
  for (const { key, value } of read.map(entries, 'services')?.entries.values() ?? []) {
    const written = child(value, 'environment')
    const place = { report, path: `${path}.services.${key}.environment` }
    for (const [index, item] of (written?.kind === 'list' ? written.items : []).entries()) {
      const entry = textOf(item)
      if (entry === undefined || entry.trim() === '') continue
      const problem = nameAndValue(entry) ?? wrongName(entry.slice(0, entry.indexOf('=')))
      if (problem !== undefined)
        reportValue(item, { ...place, path: `${place.path}[${index}]` }, `"environment[${index}]" ${problem}`)
    }
    for (const one of written?.kind === 'map' ? written.entries.values() : []) {
      const problem = wrongName(one.key)
      if (problem !== undefined) report.error('invalid-value', one.keyRange, `"${one.key}" ${problem}`, place)
    }
  }
}

function wrongName(name: string): string | undefined {
  return NAME.test(name)
    ? undefined
    : 'must have at least two characters, only letters, digits and "_", and not start with a digit'
}

function knownServices(names: readonly string[]): Record<string, JsonTemplate> {
  return Object.fromEntries(
    names.flatMap((name): [string, JsonTemplate][] => {
      const known = Object.hasOwn(PRECONFIGURED, name) ? PRECONFIGURED[name] : undefined
      if (known === undefined) return []
      const { image, port, environment: own = [] } = known
      return [[name, { image, expose: [String(port)], ...(own.length > 0 && { environment: own }) }]]
    }),
  )
}

function ownServices(entries: Entries): Record<string, JsonTemplate> {
  const written = read.map(entries, 'services')
  return Object.fromEntries([...(written?.entries.values() ?? [])].map(({ key, value }) => [key, toService(value)]))
}

function toService(written: TreeNode): JsonTemplate {
  if (written.kind !== 'map') return {}
  const ports = read.node(written.entries, 'ports')
  const variables = read.environment(written.entries, 'environment')
  return {
    image: read.text(written.entries, 'image') ?? '',
    ...(ports?.kind === 'list' && ports.items.length > 0 && { expose: ports.items.map((port) => read.plain(port) ?? '') }),
    ...(variables.length > 0 && { environment: variables.map(escapeDollars) }),
  }
}

function toComposition(entries: Entries, made: Record<string, JsonTemplate>, { isStep }: ActionPlace): CompositionAction {
  const written = read.map(entries, 'test')
  return {
    kind: 'composition',
    compose: { inline: { services: made } },
    candidates: {
      test: written === undefined ? {} : toTest(written, isStep('main_clone') ? '${{main_clone}}' : '${{CF_VOLUME_PATH}}'),
    },
    variables: [],
    registryContexts: [],
    addVolume: true,
  }
}

function toTest({ entries }: MapNode, directory: string): JsonTemplate {
  const commands = read.texts(entries, 'commands') ?? [read.text(entries, 'command') ?? '']
  return {
    image: read.text(entries, 'image') ?? '',
    entrypoint: ['sh', '-ec'],
    command: [escapeDollars(commands.join('\n'))],
    working_dir: read.text(entries, 'working_directory') ?? directory,
  }
}

/** Escapes `$`, which compose reads as a variable, except in pipeline references. */
function escapeDollars(text: string): string {
  return text.replaceAll(/\$(?!\{\{)/g, '$$$$')
}
