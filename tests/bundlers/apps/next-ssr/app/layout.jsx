export const metadata = { title: "A feed that the server renders", icons: "data:," };

export default function RootLayout({ children }) {
  return (
    <html lang="en">
      <body>
        <style>{"ol { margin: 0; padding: 0 } li { height: 7rem; list-style: none; border-bottom: 1px solid }"}</style>
        {children}
      </body>
    </html>
  );
}
