/** A text with line numbers. Lines with a problem are marked. */
import type { ReactElement, Ref } from 'react'
import styles from '../fleet.module.css'
import type { PlacedProblem } from './spec-text.ts'

interface AreaProps {
  readonly ref: Ref<HTMLTextAreaElement>
  readonly text: string
  readonly problems: readonly PlacedProblem[]
  readonly onChange: (text: string) => void
}

const LEAST_LINES = 12

/** As high as its text, so that the numbers stay beside their lines. */
export function SpecTextArea({ ref, text, problems, onChange }: AreaProps): ReactElement {
  const lines = Math.max(text.split('\n').length, LEAST_LINES)
  const wrong = new Set(problems.map(({ line }) => line))
  return (
    <div className={styles['editor']}>
      <div className={styles['numbers']} aria-hidden>
        {Array.from({ length: lines }, (_, index) => (
          <span key={index} data-wrong={wrong.has(index + 1)}>
            {index + 1}
          </span>
        ))}
      </div>
      <textarea
        ref={ref}
        aria-label="Own layer of the runtime, YAML or JSON"
        aria-invalid={problems.length > 0 || undefined}
        rows={lines}
        wrap="off"
        spellCheck={false}
        autoCapitalize="off"
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  )
}
