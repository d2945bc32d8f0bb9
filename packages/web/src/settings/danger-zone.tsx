/** Deletes a pipeline. The user types its name, because triggers and settings are lost. */
import { useMutation } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Field } from '../parts/forms/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { paths } from '../url/paths.ts'
import styles from './settings.module.css'

export function DangerZone({ pipeline, off }: { readonly pipeline: Pipeline; readonly off: string | undefined }): ReactElement {
  const [, go] = useLocation()
  const [isOpen, setIsOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const { name } = pipeline
  const remove = useMutation({
    mutationFn: () => client.pipelines.delete(pipeline.id),
    onSuccess: () => {
      go(paths.pipelines())
      queryClient.removeQueries({ queryKey: queries.pipeline(name).queryKey })
      void queryClient.invalidateQueries({ queryKey: ['pipelines'] })
    },
  })
  const whyNoDelete = off ?? (typed === name ? undefined : 'The name is not typed yet.')
  return (
    <section className={styles['danger']}>
      <h2>Delete the pipeline</h2>
      <p className="quiet">Its triggers and settings are lost. Its builds and their logs stay.</p>
      <div>
        <Button tone="danger" off={off} onClick={() => setIsOpen(true)}>
          Delete the pipeline
        </Button>
      </div>
      <Dialog
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        title="Delete the pipeline?"
        actions={
          <>
            <Button tone="danger" off={whyNoDelete} isBusy={remove.isPending} onClick={() => remove.mutate()}>
              Delete {name}
            </Button>
            <Button onClick={() => setIsOpen(false)}>Keep it</Button>
          </>
        }
      >
        <Field
          label={`Type ${name} to confirm`}
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        {remove.error !== null && <Problem error={remove.error} />}
        <Command text={sh`windlass delete pipelines ${name}`} />
      </Dialog>
    </section>
  )
}
