import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { fetchCatalog } from './catalog.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-catalog-test-'))
  folders.push(folder)
  return folder
}

interface Repository {
  readonly folder: string
  git(words: readonly string[], input?: string): string
}

function openRepository(): Repository {
  const folder = openFolder()
  const git: Repository['git'] = (words, input = '') =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=A', '-c', 'user.email=a@b.c', ...words], {
      input,
      encoding: 'utf8',
    }).trim()
  git(['init', '--quiet', '--initial-branch=main'])
  return { folder, git }
}

/** Commits a tree that consists of `levels` levels of ten equal subtrees around a file. */
function commitNested({ git }: Repository, levels: number, text: string): void {
  let object = git(['hash-object', '-w', '--stdin'], text)
  for (let level = 0; level < levels; level += 1) {
    const [mode, type, end] = level === 0 ? ['100644', 'blob', '.yaml'] : ['040000', 'tree', '']
    const entries = Array.from({ length: 10 }, (_, n) => `${mode} ${type} ${object}\t${n}${end}\n`)
    object = git(['mktree'], entries.join(''))
  }
  git(['update-ref', 'HEAD', git(['commit-tree', '-m', 'bomb', object])])
}

const fetch = (folder: string, repository: Repository, more: { readonly maxCloneBytes?: number } = {}): Promise<string[]> => {
  const { signal } = new AbortController()
  return fetchCatalog(folder, { url: `file://${repository.folder}`, environment: process.env, signal, ...more })
}

const filesIn = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' })

test.each([
  { title: 'a million files', levels: 6, text: 'kind: step-type\n', message: 'more than 20000 files' },
  { title: 'YAML files of many bytes', levels: 2, text: `# ${'x'.repeat(1_000_000)}`, message: 'YAML files of more than 32 MiB' },
])('refuses a repository that is small and contains $title, and writes none of them', async ({ levels, text, message }) => {
  const repository = openRepository()
  commitNested(repository, levels, text)
  const folder = openFolder()
  await expect(fetch(folder, repository)).rejects.toMatchObject({
    code: 'usage',
    message: `The repository of the catalog has ${message}.`,
  })
  expect(filesIn(folder).length).toBeLessThan(100)
})

test('refuses a repository whose clone is too large', async () => {
  const repository = openRepository()
  commitNested(repository, 1, 'kind: step-type\n')
  await expect(fetch(openFolder(), repository, { maxCloneBytes: 100 })).rejects.toMatchObject({
    code: 'usage',
    message: 'The repository of the catalog has more than 100 bytes.',
  })
})

test('reads the YAML files of a repository, and neither links nor other files', async () => {
  const repository = openRepository()
  mkdirSync(join(repository.folder, 'ä b', 'node_modules'), { recursive: true })
  writeFileSync(join(repository.folder, 'ä b', 'one.yaml'), 'a: 1\r\nb: ü')
  writeFileSync(join(repository.folder, 'ä b', 'node_modules', 'x.yaml'), '')
  writeFileSync(join(repository.folder, 'empty.yml'), '')
  writeFileSync(join(repository.folder, 'large.yml'), `kind: step-type\n${' '.repeat(1_048_576)}`)
  writeFileSync(join(repository.folder, 'README.md'), 'a')
  symlinkSync('/etc/passwd', join(repository.folder, 'link.yaml'))
  repository.git(['add', '--all', '--force'])
  repository.git(['commit', '--quiet', '--message=steps'])
  const folder = openFolder()
  expect(await fetch(folder, repository)).toEqual(['large.yml'])
  expect(filesIn(join(folder, 'files')).toSorted()).toEqual(['empty.yml', 'ä b', 'ä b/one.yaml'])
  expect(readFileSync(join(folder, 'files', 'ä b', 'one.yaml'), 'utf8')).toBe('a: 1\r\nb: ü')
  expect(readFileSync(join(folder, 'files', 'empty.yml'), 'utf8')).toBe('')
})

test('a tree whose names leave the folder writes nothing outside of it', async () => {
  const repository = openRepository()
  const blob = repository.git(['hash-object', '-w', '--stdin'], 'kind: step-type\n')
  const inner = repository.git(['mktree'], `100644 blob ${blob}\tevil.yaml\n`)
  const raw = Buffer.concat([Buffer.from('40000 ..\0'), Buffer.from(inner, 'hex')])
  const file = join(repository.folder, 'raw')
  writeFileSync(file, raw)
  const tree = repository.git(['hash-object', '-w', '-t', 'tree', '--literally', file])
  repository.git(['update-ref', 'HEAD', repository.git(['commit-tree', '-m', 'evil', tree])])
  const folder = openFolder()
  expect(await fetch(folder, repository)).toEqual([])
  expect(filesIn(folder).filter((name) => name.endsWith('.yaml'))).toEqual([])
})
