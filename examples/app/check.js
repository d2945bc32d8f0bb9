// Asks the running server and compares: node check.js NAME EXPECTED
const [name, expected] = process.argv.slice(2)
const url = `http://localhost:${process.env.PORT ?? 8080}/?name=${encodeURIComponent(name)}`

for (let attempt = 0; ; attempt++) {
  try {
    const answer = (await (await fetch(url)).text()).trim()
    console.log(`asked ${url}\nit answers: ${answer}`)
    process.exit(answer === expected ? 0 : 1)
  } catch (error) {
    if (attempt === 100) throw error
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
