/**
 * Finds the options that the action of each command reads. Starts at `run` in the files of the command table and follows functions and imports. The
 * result can have too many names, because every function that an action mentions counts, whether or not it gets the options.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseAst } from 'rolldown/parseAst'

interface Node {
  readonly type: string
  readonly [field: string]: unknown
}

interface Export {
  readonly file: string
  readonly name: string
}

interface Module {
  readonly file: string
  readonly body: readonly Node[]
  /** The statements that declare the names of the file. */
  readonly declared: ReadonlyMap<string, Node>
  readonly imported: ReadonlyMap<string, Export>
}

/** Names of values that hold options. A read from any other object is not one of an option. */
const HOLDERS = new Set(['options', 'flags'])

const modules = new Map<string, Module>()

/** Returns the keys of the options that each command reads, by the name of the command. `folder` has a folder for each group of commands. */
export function optionReads(folder: string): Map<string, ReadonlySet<string>> {
  const reads = new Map<string, ReadonlySet<string>>()
  for (const path of globSync('*/command.ts', { cwd: folder })) {
    const module = open(join(folder, path))
    for (const { name, run } of module.body.flatMap(commandsIn)) reads.set(name, readsFrom(run, module))
  }
  return reads
}

/** Returns the calls of `command(name, { run })` below a node. */
function commandsIn(node: Node): { name: string; run: Node }[] {
  const [name, definition] = nodesOf(node['arguments'])
  if (node.type === 'CallExpression' && nameOf(node['callee']) === 'command' && typeof name?.['value'] === 'string') {
    const run = nodesOf(definition?.['properties']).find((property) => nameOf(property['key']) === 'run')
    return run === undefined ? [] : [{ name: name['value'], run }]
  }
  return childrenOf(node).flatMap(commandsIn)
}

/** Returns the names that are read from options in a node and in everything that it mentions. */
function readsFrom(start: Node, module: Module): Set<string> {
  const reads = new Set<string>()
  const seen = new Set<Node>()
  const visit = (node: Node, home: Module): void => {
    if (seen.has(node)) return
    seen.add(node)
    for (const name of namesRead(node)) reads.add(name)
    for (const { node: next, module: its } of mentioned(node, home)) visit(next, its)
    for (const child of childrenOf(node)) if (!isName(child, node)) visit(child, home)
  }
  visit(start, module)
  return reads
}

/** Returns the names that the node itself reads: `options.name`, or the keys of a pattern such as `({ name })`. */
function namesRead(node: Node): string[] {
  if (node.type === 'MemberExpression')
    return node['computed'] !== true && isHolder(node['object']) ? [nameOf(node['property'])] : []
  if (node.type === 'VariableDeclarator') return isHolder(node['init']) ? keysOf(node['id']) : []
  return nodesOf(node['params']).flatMap((parameter) => keysOf(parameter))
}

/** Returns the keys of a pattern, also of patterns in it. */
function keysOf(pattern: unknown): string[] {
  if (!isNode(pattern)) return []
  if (pattern.type === 'AssignmentPattern') return keysOf(pattern['left'])
  if (pattern.type !== 'ObjectPattern') return []
  return nodesOf(pattern['properties']).flatMap((property) => [nameOf(property['key']), ...keysOf(property['value'])])
}

function isHolder(node: unknown): boolean {
  if (!isNode(node)) return false
  if (node.type === 'MemberExpression') return isHolder(node['property'])
  return HOLDERS.has(nameOf(node))
}

/** Returns the declarations that a node names: an identifier, or `(await import(file)).name`. */
function mentioned(node: Node, home: Module): { node: Node; module: Module }[] {
  if (node.type === 'Identifier') return [find({ file: home.file, name: nameOf(node) })].filter((found) => found !== undefined)
  const from = node.type === 'MemberExpression' ? importedFile(node['object'], home) : undefined
  const found = from === undefined ? undefined : find({ file: from, name: nameOf(node['property']) })
  return found === undefined ? [] : [found]
}

/** Returns the file of `(await import(file))`. */
function importedFile(node: unknown, home: Module): string | undefined {
  if (!isNode(node)) return undefined
  if (node.type === 'AwaitExpression' || node.type === 'ParenthesizedExpression')
    return importedFile(node['argument'] ?? node['expression'], home)
  return node.type === 'ImportExpression' ? sourceOf(node, home.file)[0] : undefined
}

/** Returns the file from which a statement or expression imports, or an empty list if it is not of this package. */
function sourceOf(node: Node, file: string): string[] {
  const source = node['source']
  const from = isNode(source) ? fileOf(source['value'], file) : undefined
  return from === undefined ? [] : [from]
}

function find({ file, name }: Export): { node: Node; module: Module } | undefined {
  const module = open(file)
  const node = module.declared.get(name)
  if (node !== undefined) return { node, module }
  const other = module.imported.get(name)
  return other === undefined ? undefined : find(other)
}

function open(file: string): Module {
  const known = modules.get(file)
  if (known !== undefined) return known
  // A program is a node.
  const { body } = parseAst(readFileSync(file, 'utf8'), { lang: 'ts' }) as unknown as { body: Node[] }
  const module = { file, body, declared: new Map(body.flatMap(declarationsOf)), imported: importsOf(body, file) }
  modules.set(file, module)
  return module
}

function declarationsOf(statement: Node): [string, Node][] {
  const inner = statement['declaration']
  if (isNode(inner)) return declarationsOf(inner)
  if (statement.type === 'VariableDeclaration')
    return nodesOf(statement['declarations']).map((declarator) => [nameOf(declarator['id']), declarator])
  return /^(?:Function|Class)Declaration$/.test(statement.type) ? [[nameOf(statement['id']), statement]] : []
}

/** Returns the imported and exported names of other files. */
function importsOf(body: readonly Node[], file: string): Map<string, Export> {
  const found = new Map<string, Export>()
  for (const statement of body) {
    const [from] = sourceOf(statement, file)
    if (from === undefined) continue
    for (const specifier of nodesOf(statement['specifiers'])) {
      const [own, other] = [specifier['local'], specifier['imported'] ?? specifier['local']]
      if (specifier.type === 'ExportSpecifier') found.set(nameOf(specifier['exported']), { file: from, name: nameOf(own) })
      else found.set(nameOf(own), { file: from, name: nameOf(other) })
    }
  }
  return found
}

/** Returns the file of a relative import. Options stay in the package of the command line, so others are not followed. */
function fileOf(specifier: unknown, from: string): string | undefined {
  if (typeof specifier !== 'string' || !specifier.startsWith('.') || !specifier.endsWith('.ts')) return undefined
  return resolve(dirname(from), specifier)
}

/** Returns true for the name of a member or key, which names no declaration. */
function isName(child: Node, parent: Node): boolean {
  if (parent['computed'] === true) return false
  return child === (parent.type === 'MemberExpression' ? parent['property'] : parent['key'])
}

function childrenOf(node: Node): Node[] {
  return Object.values(node).flatMap(nodesOf)
}

function nodesOf(value: unknown): Node[] {
  return (Array.isArray(value) ? value : [value]).filter(isNode)
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

function nameOf(node: unknown): string {
  return isNode(node) && typeof node['name'] === 'string' ? node['name'] : ''
}
