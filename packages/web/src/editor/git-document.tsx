/** The steps of a pipeline whose document is in a repository: what its last build read, and a draft of it that can be run but not saved. */
import { useQuery } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Link } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { RunForm } from '../pipelines/run-form.tsx'
import { paths } from '../url/paths.ts'
import { DocumentEditor } from './document-editor.tsx'
import styles from './editor.module.css'
import { editorQueries, type ReadDocument } from './queries.ts'

export function GitDocument({ pipeline, where }: { readonly pipeline: Pipeline; readonly where: string }): ReactElement {
  const { data: read, error, refetch } = useQuery(editorQueries.readDocument(pipeline.name))
  if (read === undefined && error !== null) return <Problem error={error} onRetry={() => void refetch()} />
  if (read === undefined) return <Loading rows={8} what="the document" />
  if (read === null)
    return (
      <Empty>
        The steps are in <bdi className="mono">{where}</bdi>. They are shown here once a build has read them.
      </Empty>
    )
  return <DocumentOfBuild pipeline={pipeline} where={where} read={read} />
}

function DocumentOfBuild({
  pipeline,
  where,
  read,
}: {
  readonly pipeline: Pipeline
  readonly where: string
  readonly read: ReadDocument
}): ReactElement {
  const [shown, setShown] = useState(read)
  const [text, setText] = useState(read.text)
  const [version, setVersion] = useState(0)
  const [isDraft, setIsDraft] = useState(false)
  const [isRunOpen, setIsRunOpen] = useState(false)
  const show = (next: ReadDocument): void => {
    setShown(next)
    setText(next.text)
    setVersion((before) => before + 1)
  }
  // A draft stays on the document that it was made from.
  if (!isDraft && read.build.id !== shown.build.id) show(read)
  const { build } = shown
  const branch = build.branch ?? ''
  return (
    <>
      <div className={styles['bar']}>
        <p className={styles['notice']}>
          Read-only: <bdi className="mono">{where}</bdi>, as build <Link href={paths.build(build.id)}>#{build.number}</Link> read
          it. Commit changes there.
        </p>
        <div className={styles['buttons']}>
          {isDraft ? (
            <>
              <Button
                tone="quiet"
                onClick={() => {
                  show(read)
                  setIsDraft(false)
                }}
              >
                Discard the draft
              </Button>
              <Button tone="primary" onClick={() => setIsRunOpen(true)}>
                Run this draft
              </Button>
            </>
          ) : (
            <Button onClick={() => setIsDraft(true)}>Edit a draft</Button>
          )}
        </div>
      </div>
      <DocumentEditor
        pipeline={pipeline.name}
        text={text}
        version={version}
        isReadOnly={!isDraft}
        planWith={{ branch, trigger: '' }}
        onChange={setText}
        onSave={() => undefined}
        onRun={() => setIsRunOpen(isDraft)}
      />
      <Dialog isOpen={isRunOpen} onClose={() => setIsRunOpen(false)} title="Run this draft" isWide>
        <RunForm pipeline={pipeline} draft={text} first={{ branch }} />
      </Dialog>
    </>
  )
}
