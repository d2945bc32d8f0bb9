/**
 * Steps of type travis, simple_travis and integration-test: tests with services beside them (pipeline language 2.13). Each becomes a
 * composition whose one candidate is the test.
 */
import type { CompositionAction, JsonTemplate } from '@windlass/plan'
import * as read from '../fields.ts'
import type { Entries } from '../fields.ts'
import { any, either, record, text, word } from '../shape.ts'
import type { Field, Fields, Shape } from '../shape.ts'
import { nameAndValue, reportValue } from '../step-rules.ts'
import type { ActionPlace, RulePlace, StepType } from '../step-type.ts'
import { child, textOf } from '../tree.ts'
import type { MapNode, TreeNode } from '../tree.ts'

/** The services that can be asked for by name: what runs for each of them, and where it listens. */
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
      image: { shape: text, required: true, about: 'Image of the service.' },
      ports: { shape: { kind: 'list', of: { kind: 'number', above: 0, whole: true } }, about: 'Ports that it listens on.' },
      environment: { shape: environment, about: 'List of `NAME=VALUE`, or a mapping of names to values.' },
    }),
  },
  about: 'Services by name; the test reaches them under these names.',
}
const preconfigured: Shape = { kind: 'list', of: word(...Object.keys(PRECONFIGURED)) }

function test(fields: Fields): Field {
  return {
    shape: record({
      image: { shape: text, required: true, about: 'Image of the test.' },
      ...fields,
      working_directory: { shape: text, about: 'Where the test starts; the folder of `main_clone` by default.' },
    }),
    required: true,
    about: 'The test, which decides the result.',
  }
}
const command: Fields = { command: { shape: text, required: true, about: 'What the test runs, in a shell.' } }

export const travis: StepType = {
  about: 'Runs a test beside services of one’s own.',
  open: true,
  fields: {
    services: { ...services, required: true },
    test: test(command),
    create_file: { shape: any, about: 'Has no effect.' },
  },
  rule: checkServices,
  toAction: (entries, place) => toComposition(entries, ownServices(entries), place),
}

export const simpleTravis: StepType = {
  about: 'Runs a test beside well-known services.',
  open: true,
  fields: { services: { shape: preconfigured, required: true, about: 'Services by name.' }, test: test(command) },
  toAction: (entries, place) => toComposition(entries, knownServices(read.texts(entries, 'services') ?? []), place),
}

export const integrationTest: StepType = {
  about: 'Runs a test beside well-known services and services of one’s own.',
  open: true,
  fields: {
    services,
    preconfigured_services: { shape: preconfigured, about: 'Well-known services by name.' },
    test: test({
      commands: {
        shape: { kind: 'list', of: text, least: 1 },
        required: true,
        about: 'What the test runs, in a shell with `set -e`.',
      },
    }),
  },
  rule: checkServices,
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
      if (problem !== undefined) reportValue(item, { ...place, path: `${place.path}[${index}]` }, `"${index}" ${problem}`)
    }
    for (const one of written?.kind === 'map' ? written.entries.values() : []) {
      const problem = wrongName(one.key)
      if (problem !== undefined) report.error('invalid-value', one.keyRange, `"${one.key}" ${problem}`, place)
    }
  }
}

function wrongName(name: string): string | undefined {
  return NAME.test(name) ? undefined : 'must be a name of at least two letters, digits or "_" that begins with a letter or "_"'
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

/** A `$` means a variable to compose; references of the pipeline keep theirs. */
function escapeDollars(text: string): string {
  return text.replaceAll(/\$(?!\{\{)/g, '$$$$')
}
