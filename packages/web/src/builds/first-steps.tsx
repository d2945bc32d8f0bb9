/** What a list without any build says: three commands. */
import { useQuery } from '@tanstack/react-query'
import { Check } from 'lucide-react'
import type { ReactElement } from 'react'
import { Command } from '../parts/copy.tsx'
import { queries } from '../server/queries.ts'
import styles from './builds.module.css'

export function FirstSteps(): ReactElement {
  const pipelines = useQuery(queries.pipelines())
  const runtimes = useQuery(queries.runtimes())
  const steps = [
    {
      text: 'Connect a cluster, where builds run.',
      command: 'windlass runner init',
      isDone: (runtimes.data?.items.length ?? 0) > 0,
    },
    { text: 'Run a document.', command: 'windlass run -f windlass.yml', isDone: false },
    {
      text: 'Store a pipeline, so that pushes can start it.',
      command: 'windlass apply -f pipeline.yml',
      isDone: (pipelines.data?.items.length ?? 0) > 0,
    },
  ]
  return (
    <section className={styles['first']} aria-label="First steps">
      <h2>No builds yet. Three commands lead to the first one.</h2>
      <ol>
        {steps.map(({ text, command, isDone }) => (
          <li key={text}>
            <p>
              {isDone && <Check size={16} aria-label="Done" />} {text}
            </p>
            <Command text={command} />
          </li>
        ))}
      </ol>
    </section>
  )
}
