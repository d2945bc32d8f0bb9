/** The three commands that lead to a first build. They stay below the list until all are done or the user hides them. */
import { useQuery } from '@tanstack/react-query'
import { Check } from 'lucide-react'
import { useEffect, useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { queries } from '../server/queries.ts'
import { useHidden } from '../shell/use-off.ts'
import styles from './builds.module.css'

const KEY = 'windlass.first-steps'

function readHidden(): boolean {
  try {
    return localStorage.getItem(KEY) === 'hidden'
  } catch {
    return false
  }
}

function keepHidden(): void {
  try {
    localStorage.setItem(KEY, 'hidden')
  } catch {
    // The choice holds until the page is closed.
  }
}

/** `isEmpty`: the server has no builds that the reader may see. */
export function FirstSteps({ isEmpty = false }: { readonly isEmpty?: boolean }): ReactElement | null {
  const [isHidden, setIsHidden] = useState(readHidden)
  // Who sees only some projects cannot connect a cluster.
  const hidden = useHidden('see-runners')
  const isAsked = hidden === undefined && (isEmpty || !isHidden)
  const pipelines = useQuery({ ...queries.pipelines(), enabled: isAsked })
  const runtimes = useQuery({ ...queries.runtimes(), enabled: isAsked })
  const hasRuntimes = (runtimes.data?.items.length ?? 0) > 0
  const hasPipelines = (pipelines.data?.items.length ?? 0) > 0
  const isComplete = !isEmpty && hasRuntimes && hasPipelines
  useEffect(() => {
    if (isComplete) keepHidden()
  }, [isComplete])
  if (!isEmpty && (!isAsked || isComplete || runtimes.isPending || pipelines.isPending)) return null
  const steps = [
    {
      text: 'Connect a cluster, where builds run.',
      command: `windlass runner init --url ${location.origin}`,
      isDone: hasRuntimes,
    },
    { text: 'Run a document.', command: 'windlass run -f windlass.yml', isDone: !isEmpty },
    {
      text: 'Store a pipeline, so that pushes can start it.',
      command: 'windlass apply -f pipeline.yml',
      isDone: hasPipelines,
    },
  ]
  return (
    <section className={styles['first']} aria-label="First steps">
      <div className={styles['firstHead']}>
        <h2>{isEmpty ? 'No builds yet. Three commands lead to the first one.' : 'First steps'}</h2>
        {!isEmpty && (
          <Button
            small
            tone="quiet"
            onClick={() => {
              keepHidden()
              setIsHidden(true)
            }}
          >
            Hide
          </Button>
        )}
      </div>
      <p>The commands use the server that you log in to:</p>
      <Command text={`windlass login --url ${location.origin}`} />
      <ol>
        {steps.map(({ text, command, isDone }) => (
          <li key={text} data-done={isDone}>
            <p>
              {isDone && <Check size={16} role="img" aria-label="Done:" />} {text}
            </p>
            {!isDone && <Command text={command} />}
          </li>
        ))}
      </ol>
    </section>
  )
}
