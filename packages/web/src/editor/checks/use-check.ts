/** The problems and the plan of a document from the worker, and the names that completion offers. */
import { useQuery } from '@tanstack/react-query'
import type { CatalogEntry, KnownNames } from '@windlass/pipeline'
import type { PlanAnswer } from '@windlass/protocol'
import { useEffect, useRef, useState } from 'react'
import { contextQueries } from '../../contexts/queries.ts'
import { queries } from '../../server/queries.ts'
import type { CheckAnswer, PlannedRun } from './language.ts'
import { openLanguage, type Language } from './language-client.ts'
import { editorQueries } from '../queries.ts'

/** Pause in the typing after which the worker checks. Milliseconds. */
const PAUSE_MS = 60

const NO_TYPES: readonly CatalogEntry[] = []

export interface Checked extends CheckAnswer {
  readonly text: string
  /** How many checks came before. */
  readonly count: number
}

/** Returns a worker that lives as long as the component. */
export function useLanguage(): Language {
  const [language] = useState(openLanguage)
  const isMounted = useRef(false)
  useEffect(() => {
    isMounted.current = true
    return () => {
      isMounted.current = false
      // Development mounts twice; the worker ends only if the component stays away.
      setTimeout(() => !isMounted.current && language.close(), 0)
    }
  }, [language])
  return language
}

/** Returns the latest check of a document. Undefined before the first one. */
export function useCheck(
  language: Language,
  text: string,
  run: PlannedRun,
  stepTypes: readonly CatalogEntry[] = NO_TYPES,
): Checked | undefined {
  const [checked, setChecked] = useState<Checked>()
  const key = JSON.stringify(run)
  useEffect(() => {
    let isStale = false
    const timer = setTimeout(() => {
      const asked: PlannedRun = JSON.parse(key)
      void language.ask('check', { text, run: asked, stepTypes }).then((answer) => {
        if (!isStale) setChecked((before) => ({ ...answer, text, count: (before?.count ?? 0) + 1 }))
      })
    }, PAUSE_MS)
    return () => {
      isStale = true
      clearTimeout(timer)
    }
  }, [language, text, key, stepTypes])
  return checked
}

/** Returns the names of the account that completion offers. */
export function useKnownNames(answer: PlanAnswer | undefined): KnownNames {
  const { data: contexts } = useQuery({ ...contextQueries.list(), retry: false })
  const { data: runtimes } = useQuery({ ...queries.runtimes(), retry: false })
  const { data: stepTypes } = useQuery(editorQueries.stepTypes())
  return {
    contexts: contexts?.items.map(({ name, type }) => ({ name, type })) ?? [],
    runtimes: runtimes?.items.map(({ name }) => name) ?? [],
    stepTypes: stepTypes?.items.map(({ name, version }) => `${name}:${version}`) ?? [],
    variables: (answer?.plan?.variables ?? [])
      .filter(({ overriddenBy, level }) => overriddenBy === undefined && level !== 'system')
      .map(({ name, level, source }) => ({ name, level, ...(source !== undefined && { about: `From ${source}.` }) })),
  }
}
