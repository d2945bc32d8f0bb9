/** The step types of the account that a document uses, so that the worker can compile its typed steps. */
import { useQueries, useQuery } from '@tanstack/react-query'
import type { CatalogEntry } from '@windlass/pipeline'
import { useState } from 'react'
import { editorQueries } from '../queries.ts'

/** Step types that are loaded for one document. */
const MAX_TYPES = 50

/** Returns the types that a text names, with their versions as written, each once. */
export function namedTypes(text: string): string[] {
  const found = [...text.matchAll(/(?:^|[\s{,])type:[ \t]*["']?([A-Za-z0-9][\w./-]*(?::[\w.+-]+)?)/g)]
  return [...new Set(found.map(([, name = '']) => name))]
}

/** Returns the manifests of the step types that a document and these step types use, as far as they are loaded. */
export function useStepTypes(text: string): readonly CatalogEntry[] {
  const { data: list } = useQuery(editorQueries.stepTypes())
  const known = new Set(list?.items.filter(({ builtIn }) => !builtIn).map(({ name }) => name))
  // Step types may use others: what is loaded is searched too.
  const [loaded, setLoaded] = useState<readonly CatalogEntry[]>([])
  const names = [text, ...loaded.map((one) => one.text)].flatMap(namedTypes).filter((name) => known.has(name.split(':')[0] ?? ''))
  const found = useQueries({
    queries: [...new Set(names)].slice(0, MAX_TYPES).map((name) => editorQueries.stepType(name)),
    combine: (answers) =>
      answers.flatMap(({ data }): CatalogEntry[] =>
        data?.manifest === undefined ? [] : [{ name: data.name, version: data.version, text: data.manifest }],
      ),
  })
  const key = (entries: readonly CatalogEntry[]): string => entries.map(({ name, version }) => `${name}:${version}`).join(' ')
  if (key(found) !== key(loaded)) setLoaded(found)
  return loaded
}
