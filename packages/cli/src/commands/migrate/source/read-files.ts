/** Documents of a file, or of all YAML files below a folder. */
import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, extname, relative, resolve, sep } from 'node:path'
import { fault } from '@windlass/kit/faults'
import { folderTooLarge, listYamlFiles, MAX_BYTES, MAX_TOTAL_BYTES } from '@windlass/local/yaml-files'
import { partsOf } from '../../../input/document-parts.ts'
import { readInput } from '../../../input/input-files.ts'
import type { SourceDocument } from '../judge/verdict.ts'

/** Largest number of documents in all files. */
const MAX_DOCUMENTS = 20_000

/** Reads the documents of a file, or below a folder. Throws `file-not-found`, and `usage` if there is too much. */
export function readFiles(path: string): SourceDocument[] {
  const isFolder = path !== '-' && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  const documents = isFolder ? readFolder(path) : documentsOf({ ...readInput(path), default: nameOf(path, dirname(path)) }, true)
  if (documents.length <= MAX_DOCUMENTS) return documents
  throw fault('usage', { message: `${path} has more than ${MAX_DOCUMENTS} documents.`, hint: 'Name a smaller file or folder.' })
}

function readFolder(folder: string): SourceDocument[] {
  let total = 0
  return listYamlFiles(folder, { hint: 'Name a file or folder with documents.' }).flatMap((file) => {
    const text = readText(file)
    total += text.length
    if (total > MAX_TOTAL_BYTES) throw folderTooLarge(folder, `YAML files of more than ${MAX_TOTAL_BYTES / MAX_BYTES} MiB`)
    return documentsOf({ name: file, text, default: nameOf(file, folder) }, false)
  })
}

/** Reads a file of a folder. One that is too large for a document, or that cannot be read, is not one of ours. */
function readText(file: string): string {
  try {
    return statSync(file).size > MAX_BYTES ? '' : readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

interface NamedText {
  readonly name: string
  readonly text: string
  /** Name of a pipeline without one. */
  readonly default: string
}

function documentsOf(file: NamedText, isNamed: boolean): SourceDocument[] {
  const parts = partsOf(file.text).filter(({ text }) => text.replaceAll(/^[ \t]*[#%].*$/gm, '').trim() !== '')
  return parts.map(({ text, line }) => ({ text, line, from: file.name, name: file.default, isNamed }))
}

/** Returns the name for a pipeline of a file: its folders and its name, without `codefresh` and the characters that names cannot have. */
function nameOf(file: string, folder: string): string {
  const inside = relative(folder, file).split(sep)
  const stem = basename(inside.pop() ?? '', extname(file))
  const own = /^codefresh$/i.test(stem) ? [] : [stem]
  const words = [...inside, ...own].map((word) => word.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, ''))
  const name = words.filter((word) => word !== '').join('/')
  return name === '' ? basename(resolve(folder)).replaceAll(/[^A-Za-z0-9._-]+/g, '-') : name
}
